import type { OriginsMessages } from "./en.ts";

export const ptBR: OriginsMessages = {
  title: "Origens permitidas",
  text: "As páginas web destas origens podem chamar a API em um navegador e exibir as páginas incorporadas em um quadro.",
  origins: "Origens",
  hint: "Uma por linha, com esquema e porta, como https://app.example.org. No máximo 50.",
  lost: "Páginas de uma origem removida não podem mais chamar a API nem exibir o quadro em um frame.",
  line: (n: number, problem: string) => `Linha ${n}: ${problem}`,
  save: "Salvar",
  done: {
    saved: "As origens foram salvas.",
  },
};
