import { folded } from "./tokens.ts";

/**
 * Words of a language by effect. White space separates entries, `_` joins the words of a phrase, and a final
 * `*` matches any ending. Values range from -3 to 3; 0 neutralizes a phrase.
 */
export type Source = {
  /** Matched by character, for languages without word separators. */
  characters?: true;
  values: [value: number, entries: string][];
  negations: string;
  stronger: string;
  weaker: string;
  contrasts: string;
  wishes: string;
  /** Maximum distance in words (or characters) between a negation and the negated word, before and after it. */
  reach: { before: number; behind: number };
};

export type Entry = { kind: "value" | "degree" | "negation" | "contrast" | "wish"; value: number; length: number };

type Node = { next: Map<string, Node>; open: Map<string, Node>; entry?: Entry };

export type Lexicon = Pick<Source, "reach"> & { characters: boolean; root: Node };

const shortestStem = 2;
const maxWordLength = 40;

export function compile(source: Source): Lexicon {
  const lexicon = { reach: source.reach, characters: source.characters === true, root: node() };
  const add = (kind: Entry["kind"], value: number, entries: string) => {
    for (const entry of entries.split(/\s+/)) if (entry) insert(lexicon, entry, kind, value);
  };
  for (const [value, entries] of [...signs, ...source.values]) add("value", value, entries);
  add("degree", 1.4, source.stronger);
  add("degree", 0.6, source.weaker);
  add("negation", -1, source.negations);
  add("contrast", 0, source.contrasts);
  add("wish", 0, source.wishes);
  return lexicon;
}

// Entries with the same meaning in every language.
const signs: [number, string][] = [
  [2, "👍 👏 🙌 💪 ❤ 💙 💚 💜 🧡 💛 😀 😃 😄 😁 😊 🙂 😍 🥰 😎 🤩 🎉 🔥 🚀 ⭐ 🌟 💯 ✅ 🙏 :) :-) :d ;) <3 ^^"],
  [-2, "👎 😡 😠 🤬 😞 😢 😭 😤 🙁 ☹ 😖 😩 😫 🤮 🤢 💩 💔 🤦 😒 :( :-( :/ ❌"],
];

function insert(lexicon: Lexicon, entry: string, kind: Entry["kind"], value: number): void {
  const words = lexicon.characters ? [...folded(entry, true)] : entry.split("_");
  let at = lexicon.root;
  for (const word of words) {
    const open = !lexicon.characters && word.endsWith("*");
    const key = open ? stemOf(folded(word.slice(0, -1), false)) : folded(word, lexicon.characters);
    const branches = open ? at.open : at.next;
    const found = branches.get(key) ?? node();
    branches.set(key, found);
    at = found;
  }
  at.entry ??= { kind, value, length: words.length };
}

const node = (): Node => ({ next: new Map(), open: new Map() });

/** The longest entry that starts at a word. */
export function lookUp({ root }: Lexicon, words: string[], at: number): Entry | undefined {
  return longest(root, words, at);
}

// Recursion is limited by the longest phrase: each word follows its own branch and the best open-ended one.
function longest(from: Node, words: string[], at: number): Entry | undefined {
  const word = words[at];
  if (word === undefined) return from.entry;
  const exact = from.next.get(word);
  const open = from.open.size > 0 ? branchOf(from.open, stemOf(word)) : undefined;
  const found = exact && longest(exact, words, at + 1);
  const other = open && longest(open, words, at + 1);
  return (other?.length ?? 0) > (found?.length ?? 0) ? other : (found ?? from.entry);
}

function branchOf(open: Map<string, Node>, word: string): Node | undefined {
  for (let length = Math.min(word.length, maxWordLength); length >= shortestStem; length--) {
    const branch = open.get(word.slice(0, length));
    if (branch) return branch;
  }
  return undefined;
}

/** Doubled letters are the most frequent misspelling: "recomend", "dissappointed". */
function stemOf(word: string): string {
  return word.replace(/(.)\1+/gu, "$1");
}
