import { readdirSync, readFileSync } from "node:fs";
import { root } from "../../local/postgres/database-server.ts";

/** README.md and every page of docs/, with its path from the root. */
export const pages = [
  "README.md",
  "CONTRIBUTING.md",
  ...readdirSync(`${root}/docs`)
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => `docs/${name}`),
];

export const textOf = (page: string) => readFileSync(`${root}/${page}`, "utf8");

/** The instruction of an HTML comment before a fenced code block. */
export type Example =
  | { do: "run"; script: string; prints: string | undefined }
  | { do: "save"; path: string; text: string };

/** The examples of a page in order: `<!-- run -->`, `<!-- prints -->` of the run before it, `<!-- save as NAME -->`. */
export function examplesOf(text: string): Example[] {
  const examples: Example[] = [];
  for (const [, action = "", body = ""] of text.matchAll(
    /^<!-- (run|prints|save as \S+) -->\n```\w*\n([\s\S]*?)^```$/gm,
  )) {
    const last = examples.at(-1);
    if (action === "run") examples.push({ do: "run", script: body, prints: undefined });
    else if (action !== "prints") examples.push({ do: "save", path: action.slice("save as ".length), text: body });
    else if (last?.do === "run") last.prints = body;
    else throw new Error("a block says what is printed, and none before it is run");
  }
  const marks = text.match(/^<!-- (?:run|prints|save as).* -->$/gm)?.length ?? 0;
  const found = examples.reduce(
    (sum, example) => sum + (example.do === "run" && example.prints !== undefined ? 2 : 1),
    0,
  );
  if (marks !== found) throw new Error(`${marks} blocks are marked, ${found} were understood`);
  return examples;
}

/** Compares the printed text without white space; … matches anything. */
export function printed(text: string): RegExp {
  const pieces = text.replaceAll(/\s+/g, "").split("…");
  return new RegExp(pieces.map((piece) => piece.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".*?"));
}

/** The first table under a heading: the cells of each row, without the header row. */
export function tableUnder(page: string, heading: string): string[][] {
  const [, section = ""] = textOf(page).split(new RegExp(`^#+ ${heading}$`, "m"));
  const lines = section.split("\n");
  const start = lines.findIndex((line) => line.startsWith("|"));
  const end = lines.findIndex((line, index) => index > start && !line.startsWith("|"));
  if (start < 0) throw new Error(`${page} has no table under ${heading}`);
  return lines.slice(start + 2, end < 0 ? undefined : end).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** The anchors that GitHub generates for the headings of a page. */
export function anchorsOf(text: string): string[] {
  const headings = [...text.replaceAll(/^```[\s\S]*?^```$/gm, "").matchAll(/^#{1,6} (.+)$/gm)];
  return headings.map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(" ", "-"),
  );
}
