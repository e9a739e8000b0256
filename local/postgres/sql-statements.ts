export interface Statement {
  text: string;
  /** First line in the file, from 1. */
  line: number;
}

// Tokens in which a semicolon does not end a statement: comments, quoted text and names, dollar quotes.
const opaque = /--[^\n]*|\/\*|'|"|\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$|;|[A-Za-z_][\w$]*/g;

/** Splits a file into statements as the Supabase CLI records them: without semicolon and surrounding white space. */
export function sqlStatements(source: string): Statement[] {
  const statements: Statement[] = [];
  let start = 0;
  let line = 1;
  let counted = 0;
  let depth = 0;
  let atomic = false;
  let previous = "";
  const take = (end: number) => {
    const raw = source.slice(start, end);
    const text = raw.trim();
    const first = start + raw.length - raw.trimStart().length;
    line += source.slice(counted, first).split("\n").length - 1;
    counted = first;
    if (withoutComments(text) !== "") statements.push({ text, line });
  };
  for (let match = nextToken(source, 0); match !== null; match = nextToken(source, match.end)) {
    const word = match.text.toLowerCase();
    if (word === ";" && depth === 0) {
      take(match.end - 1);
      start = match.end;
      atomic = false;
    } else if (word === "atomic" && previous === "begin") {
      atomic = true;
      depth++;
    } else if (atomic && word === "case") {
      depth++;
    } else if (atomic && word === "end") {
      depth--;
    }
    previous = word;
  }
  take(source.length);
  return statements;
}

interface Token {
  text: string;
  end: number;
}

/** The next word or semicolon outside of comments and quotes. */
function nextToken(source: string, from: number): Token | null {
  opaque.lastIndex = from;
  for (let match = opaque.exec(source); match !== null; match = opaque.exec(source)) {
    const [text] = match;
    if (text.startsWith("--")) continue;
    if (text === ";" || /^[A-Za-z_]/.test(text)) return { text, end: opaque.lastIndex };
    opaque.lastIndex = endOfQuote(source, text, match.index);
  }
  return null;
}

function endOfQuote(source: string, opening: string, at: number): number {
  if (opening === "/*") return endOfComment(source, at);
  if (opening.startsWith("$")) return indexAfter(source, opening, at + opening.length);
  const escapes = opening === "'" && /(?:^|[^\w$])[eE]$/.test(source.slice(Math.max(0, at - 2), at));
  for (let index = at + 1; index < source.length; index++) {
    if (escapes && source[index] === "\\") index++;
    else if (source[index] === opening && source[index + 1] === opening) index++;
    else if (source[index] === opening) return index + 1;
  }
  return source.length;
}

/** SQL comments nest. */
function endOfComment(source: string, at: number): number {
  const marks = /\/\*|\*\//g;
  marks.lastIndex = at;
  let depth = 0;
  for (let mark = marks.exec(source); mark !== null; mark = marks.exec(source)) {
    depth += mark[0] === "/*" ? 1 : -1;
    if (depth === 0) return marks.lastIndex;
  }
  return source.length;
}

function indexAfter(source: string, text: string, from: number): number {
  const found = source.indexOf(text, from);
  return found < 0 ? source.length : found + text.length;
}

function withoutComments(text: string): string {
  let rest = text;
  for (;;) {
    const next = rest.startsWith("--")
      ? rest.slice(indexAfter(rest, "\n", 0))
      : rest.startsWith("/*")
        ? rest.slice(endOfComment(rest, 0))
        : rest;
    if (next === rest) return rest;
    rest = next.trimStart();
  }
}
