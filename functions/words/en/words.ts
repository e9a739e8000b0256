/** Words that several pages and mails use. */
export const words = {};

export type Words = typeof words;
