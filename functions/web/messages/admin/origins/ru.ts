import type { OriginsMessages } from "./en.ts";

export const ru: OriginsMessages = {
  title: "Разрешённые источники",
  text: "Веб-страницы этих источников могут вызывать API в браузере и показывать встроенные страницы во фрейме.",
  origins: "Источники",
  hint: "По одному в строке, со схемой и портом, например https://app.example.org. Не больше 50.",
  lost: "Страницы удалённого источника больше не смогут вызывать API и показывать доску во фрейме.",
  line: (n: number, problem: string) => `Строка ${n}: ${problem}`,
  save: "Сохранить",
  done: {
    saved: "Источники сохранены.",
  },
};
