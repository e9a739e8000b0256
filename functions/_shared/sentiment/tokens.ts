/** A part of a text between marks, as words; or as characters in languages that do not separate words. */
export type Clause = { words: string[]; isQuestion: boolean; isExclaimed: boolean };

// Not Intl.Segmenter: its words change with the ICU of the runtime, and a score must not.

const longestText = 2_000;
const mark = /[.!?;,…\n。、！？；，:()"«»“”„—–]+/u;
const emoticon = /(?::-?[()d/]|;\)|<3|\^\^)(?![\p{L}\p{N}/])/gu;
const token = new RegExp(
  `${emoticon.source}|[\\p{L}\\p{M}\\p{N}]+|\\p{Extended_Pictographic}|${mark.source}`,
  "gu",
);
const endsQuestion = /[?？]/;
const endsExclamation = /[!！]/;

/** One form for what people write in several: case, width, accents, long vowels for emphasis, invisible characters. */
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

/** Of a text as long as is read: what comes later costs nothing. */
export function clausesOf(text: string, characters: boolean): Clause[] {
  const clauses: Clause[] = [];
  let words: string[] = [];
  let sentence = 0;
  const close = (end: string) => {
    if (words.length > 0) clauses.push({ words, isQuestion: false, isExclaimed: false });
    words = [];
    if (!/[.!?…\n。！？]/u.test(end)) return;
    // How a sentence ends is true of all of it.
    for (const clause of clauses.slice(sentence)) {
      clause.isQuestion = endsQuestion.test(end);
      clause.isExclaimed = endsExclamation.test(end);
    }
    sentence = clauses.length;
  };
  for (const [found] of folded(text.slice(0, longestText), characters)
    .slice(0, longestText)
    .matchAll(token)) {
    if (isMark.test(found)) close(found);
    else if (characters) words.push(...found);
    else words.push(found);
  }
  close("");
  return clauses;
}

const isMark = new RegExp(`^${mark.source}$`, "u");
