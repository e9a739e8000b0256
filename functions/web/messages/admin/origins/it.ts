import type { OriginsMessages } from "./en.ts";

export const it: OriginsMessages = {
  title: "Origini consentite",
  text: "Le pagine web di queste origini possono chiamare l’API in un browser e mostrare le pagine incorporate in un frame.",
  origins: "Origini",
  hint: "Una per riga, con schema e porta, come https://app.example.org. Al massimo 50.",
  lost: "Le pagine di un’origine rimossa non possono più chiamare l’API né mostrare la bacheca in un frame.",
  line: (n: number, problem: string) => `Riga ${n}: ${problem}`,
  save: "Salva",
  done: {
    saved: "Le origini sono salvate.",
  },
};
