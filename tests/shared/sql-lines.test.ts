import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { root } from "../../local/postgres/database-server.ts";

const schemas = readdirSync(`${root}/supabase/schemas`).map((file) =>
  readFileSync(`${root}/supabase/schemas/${file}`, "utf8"),
);
const platform = ["local/postgres/platform.sql", "local/auth/program.sql"].map((path) =>
  readFileSync(path, "utf8"),
);
const wordsOf = (text: string) => new Set(text.replaceAll(/--.*|^ {2}'.*'[;]?$/gm, "").match(/\w+/g));
const known = wordsOf([...schemas, ...platform].join("\n"));
/** Names in a comment: words with an underscore, each perhaps with its schema. */
const namesIn = (comment: string) => [...comment.matchAll(/(\w+\.)?\b([a-z]+(?:_[a-z0-9]+)+)\b/g)];

describe.each(readdirSync(`${root}/supabase/schemas`))("%s", (file) => {
  const text = readFileSync(`${root}/supabase/schemas/${file}`, "utf8");

  test("has lines of at most 110 characters", () => {
    expect(text.split("\n").filter((line) => [...line].length > 110)).toEqual([]);
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
    const comments = (text.match(/-- .*|^ {2}'.*'[;]?$/gm) ?? []).flatMap(namesIn);
    expect(comments.filter(([, schema, name = ""]) => schema !== "pgrst." && !known.has(name))).toEqual([]);
  });

  test("names in the comment of a public function only its own arguments and columns, or others with their schema", () => {
    const described =
      /^create function public\.(?:(?!^create )[\s\S])*?^comment on function [^;]*? is\s*('[^;]*';)/gm;
    for (const [whole, comment = ""] of text.matchAll(described)) {
      const own = wordsOf(whole.slice(0, -comment.length));
      expect(namesIn(comment).filter(([, schema, name = ""]) => !schema && !own.has(name))).toEqual([]);
    }
  });
});
