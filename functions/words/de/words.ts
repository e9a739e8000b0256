import type { Words } from "../en/words.ts";

export const words: Words = { colon: ": ", quoted: (text) => `„${text}“` };
