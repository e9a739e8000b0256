import type { OriginsMessages } from "./en.ts";

export const fr: OriginsMessages = {
  title: "Origines autorisées",
  text: "Les pages web de ces origines peuvent appeler l’API dans un navigateur et afficher les pages intégrées dans un cadre.",
  origins: "Origines",
  hint: "Une par ligne, avec le schéma et le port, comme https://app.example.org. Au plus 50.",
  lost: "Les pages d’une origine retirée ne peuvent plus appeler l’API ni afficher le tableau dans un cadre.",
  line: (n: number, problem: string) => `Ligne ${n} : ${problem}`,
  save: "Enregistrer",
  done: {
    saved: "Les origines sont enregistrées.",
  },
};
