import type { BrandMessages } from "./en.ts";

export const de: BrandMessages = {
  title: "Marke",
  text: "Farbe und Logo der Seiten, ihrer E-Mails und eingebetteter Boards.",
  now: "So sieht es jetzt aus",
  logoOf: (name: string) => `Logo von ${name}`,
  noLogo: "Kein Logo",
  noColor: "Die Standardfarbe",
  sample: "Ein Knopf",
  color: "Farbe",
  colorHint: "Etwa #5b5bd6; leer für die Standardfarbe. Wo Text schlecht lesbar wäre, gilt ein naher Ton.",
  logo: "Adresse des Logos",
  logoHint:
    "Ein Bild unter einer https-Adresse, möglichst quadratisch; leer für keines. Die Browser der Besucher laden es von dort.",
  file: "Logo",
  fileHint:
    "Ein Bild als PNG, JPEG oder WebP mit höchstens 512 KiB, möglichst quadratisch. Es ersetzt das bisherige.",
  upload: "Hochladen",
  fileMissing: "Wählen Sie ein Bild.",
  fileType: "Das ist kein Bild als PNG, JPEG oder WebP.",
  tooLarge: "Das Bild ist größer als 512 KiB oder breiter oder höher als 2.048 Pixel: Verkleinern Sie es.",
  remove: "Logo entfernen",
  removeHint: "Das hochgeladene Bild wird gelöscht. Auch versandte E-Mails zeigen es nicht mehr.",
  save: "Speichern",
  done: {
    saved: "Die Marke ist gespeichert.",
    uploaded: "Das Logo ist hochgeladen.",
  },
};
