import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { root } from "../../local/database-server.ts";

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
});
