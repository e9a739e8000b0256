/** A clause of a text as words, or as characters in languages without word separators. */
export type Clause = { words: string[]; isQuestion: boolean; isExclaimed: boolean };

// Not Intl.Segmenter: its results depend on the ICU version, and scores must not.

const maxTextLength = 2_000;
const mark = /[.!?;,…\n。、！？；，:()"«»“”„—–]+/u;
const emoticon = /(?::-?[()d/]|;\)|<3|\^\^)(?![\p{L}\p{N}/])/gu;
const token = new RegExp(`${emoticon.source}|[\\p{L}\\p{M}\\p{N}]+|\\p{Extended_Pictographic}|${mark.source}`, "gu");
const endsQuestion = /[?？]/;
const endsExclamation = /[!！]/;

/** Normalizes spelling: case, width, accents, lengthened vowels, invisible characters. */
export function folded(text: string, characters: boolean): string {
  const plain = text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  if (characters) return plain;
  return plain
    .normalize("NFD")
    .replace(/(?<=[a-z])\p{M}+/gu, "")
    .normalize("NFC")
    .replaceAll("ё", "е")
    .replaceAll("ß", "ss")
    .replace(/(\p{L})\1{2,}/gu, "$1");
}

/** Long texts are truncated to bound the cost. */
export function clausesOf(text: string, characters: boolean): Clause[] {
  const clauses: Clause[] = [];
  let words: string[] = [];
  let sentence = 0;
  const close = (end: string) => {
    if (words.length > 0) clauses.push({ words, isQuestion: false, isExclaimed: false });
    words = [];
    if (!/[.!?…\n。！？]/u.test(end)) return;
    // The end of a sentence determines its kind.
    for (const clause of clauses.slice(sentence)) {
      clause.isQuestion = endsQuestion.test(end);
      clause.isExclaimed = endsExclamation.test(end);
    }
    sentence = clauses.length;
  };
  for (const [found] of folded(text.slice(0, maxTextLength), characters).slice(0, maxTextLength).matchAll(token)) {
    if (isMark.test(found)) close(found);
    else if (characters) words.push(...found);
    else words.push(found);
  }
  close("");
  return clauses;
}

const isMark = new RegExp(`^${mark.source}$`, "u");
