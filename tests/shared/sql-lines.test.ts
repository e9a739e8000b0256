import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { root } from "../../local/postgres/database-server.ts";

const schemas = readdirSync(`${root}/supabase/schemas`).map((file) =>
  readFileSync(`${root}/supabase/schemas/${file}`, "utf8"),
);
const platform = ["local/postgres/platform.sql", "local/auth/program.sql"].map((path) => readFileSync(path, "utf8"));
const wordsOf = (text: string) => new Set(text.replaceAll(/--.*|^ {2}'(?:[^']|'')*'[;]?$/gm, "").match(/\w+/g));
const known = wordsOf([...schemas, ...platform].join("\n"));
/** Names in a comment: words with an underscore, each perhaps with its schema. */
const namesIn = (comment: string) => [...comment.matchAll(/(\w+\.)?\b([a-z]+(?:_[a-z0-9]+)+)\b/g)];

/** Calls of json_build_object over several lines that do not have one key and value a line. */
function crowdedObjects(text: string): string[] {
  const bare = text.replaceAll(/'(?:[^']|'')*'|--.*/g, (part) => part.replaceAll(/[^\n]/g, "_"));
  return [...bare.matchAll(/\bjsonb?_build_object\(/g)].flatMap(({ index, 0: call }) => {
    let at = index + call.length;
    const pairs = [at];
    for (let depth = 1, commas = 0; depth > 0; at++) {
      const character = bare[at] ?? ")";
      if ("([".includes(character)) depth++;
      if (")]".includes(character)) depth--;
      if (character === "," && depth === 1 && ++commas % 2 === 0) pairs.push(at + 1);
    }
    const isCrowded = bare.slice(index, at).includes("\n") && pairs.some((pair) => !/^[ _]*\n/.test(bare.slice(pair)));
    return isCrowded ? [text.slice(index, at)] : [];
  });
}

describe.each(readdirSync(`${root}/supabase/schemas`))("%s", (file) => {
  const text = readFileSync(`${root}/supabase/schemas/${file}`, "utf8");

  test("has lines of at most 120 characters", () => {
    expect(text.split("\n").filter((line) => [...line].length > 120)).toEqual([]);
  });

  test("has one key and value a line where an object has several lines, and `is null` on one line", () => {
    expect([crowdedObjects(text), text.match(/^.*\n\s+is (?:not )?null/gm)]).toEqual([[], null]);
  });

  test("describes each private function above it, and says why it is security definer", () => {
    const functions = [
      ...text.matchAll(/^((?:--.*\n)*)create function private\.(\w+)([\s\S]*?)(?:\$\$.*|^return|^begin)/gm),
    ];
    const isUndescribed = ([head, comment = "", , signature = ""]: RegExpMatchArray) =>
      comment === "" || (signature.includes("security definer") && !head.includes("definer: "));
    expect(functions.filter(isUndescribed).map(([, , name]) => name)).toEqual([]);
  });

  test("names in its comments what there is", () => {
    const comments = (text.match(/-- .*|^ {2}'(?:[^']|'')*'[;]?$/gm) ?? []).flatMap(namesIn);
    expect(comments.filter(([, schema, name = ""]) => schema !== "pgrst." && !known.has(name))).toEqual([]);
  });

  test("names in the comment of a public function only its own arguments and columns, or others with their schema", () => {
    const described = /^create function public\.(?:(?!^create )[\s\S])*?^comment on function [^;]*? is\s*('[^;]*';)/gm;
    for (const [whole, comment = ""] of text.matchAll(described)) {
      const own = wordsOf(whole.slice(0, -comment.length));
      expect(namesIn(comment).filter(([, schema, name = ""]) => !schema && !own.has(name))).toEqual([]);
    }
  });
});
