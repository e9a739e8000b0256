import type { OriginsMessages } from "./en.ts";

export const es: OriginsMessages = {
  title: "Orígenes permitidos",
  text: "Las páginas web de estos orígenes pueden llamar a la API en un navegador y mostrar las páginas incrustadas en un marco.",
  origins: "Orígenes",
  hint: "Uno por línea, con esquema y puerto, como https://app.example.org. Como máximo 50.",
  lost: "Si quitas un origen, sus páginas ya no podrán usar la API con sesión ni mostrar el tablero en un marco.",
  line: (n: number, problem: string) => `Línea ${n}: ${problem}`,
  save: "Guardar",
  done: {
    saved: "Los orígenes están guardados.",
  },
};
