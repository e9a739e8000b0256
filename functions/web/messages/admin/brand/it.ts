import type { BrandMessages } from "./en.ts";

export const it: BrandMessages = {
  title: "Marchio",
  text: "Colore e logo delle pagine, delle loro email e delle bacheche incorporate.",
  now: "Aspetto attuale",
  logoOf: (name: string) => `Logo di ${name}`,
  noLogo: "Nessun logo",
  noColor: "Il colore predefinito",
  sample: "Un pulsante",
  color: "Colore",
  colorHint:
    "Come #5b5bd6; vuoto per quello predefinito. Dove il testo sarebbe poco leggibile si usa una tonalità vicina.",
  logo: "Indirizzo del logo",
  logoHint:
    "Un’immagine a un indirizzo https, possibilmente quadrata; vuoto per nessuna. I browser la caricano da lì.",
  file: "Logo",
  fileHint:
    "Un’immagine PNG, JPEG o WebP di al massimo 512 KiB, quadrata se possibile. Sostituisce la precedente.",
  upload: "Carica",
  fileMissing: "Scegli un’immagine.",
  fileType: "Non è un’immagine PNG, JPEG o WebP.",
  tooLarge: "L’immagine supera i 512 KiB o i 2048 pixel in larghezza o in altezza: riducila.",
  remove: "Rimuovi il logo",
  removeHint: "L’immagine caricata viene eliminata. Le email già inviate non la mostrano più.",
  save: "Salva",
  done: {
    saved: "Il marchio è salvato.",
    uploaded: "Il logo è stato caricato.",
  },
};
