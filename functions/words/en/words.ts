/** Signs and words that several pages and mails use. */
export const words = {
  /** Between a label and its value. */
  colon: ": ",
  quoted: (text: string) => `“${text}”`,
};

export type Words = typeof words;
