import type { OriginsMessages } from "./en.ts";

export const de: OriginsMessages = {
  title: "Erlaubte Ursprünge",
  text: "Webseiten dieser Ursprünge dürfen die API im Browser aufrufen und die eingebetteten Seiten in einem Rahmen zeigen.",
  origins: "Ursprünge",
  hint: "Einer je Zeile, mit Schema und Port, etwa https://app.example.org. Höchstens 50.",
  lost: "Seiten eines entfernten Ursprungs können die API nicht mehr aufrufen und das Board nicht mehr in einem Rahmen zeigen.",
  line: (n: number, problem: string) => `Zeile ${n}: ${problem}`,
  save: "Speichern",
  done: {
    saved: "Die Ursprünge sind gespeichert.",
  },
};
