import { readdirSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { textOf } from "../docs/markdown.ts";
import { hangUp } from "../realtime/listening.ts";
import { exampleOf, pageOf } from "./examples.ts";
import { type Row, run, type Section } from "./row.ts";
import { Scene } from "./scene.ts";

const byNumber = new Intl.Collator("en", { numeric: true }).compare;
const files = readdirSync(import.meta.dirname).filter((name) => /^\d.*-.*\.ts$/.test(name));
const imported = files.toSorted(byNumber).map((name) => import(`./${name.replace(/\.ts$/, "")}.ts`));
const sections = (await Promise.all(imported)).flatMap((file: { default: Section | Section[] }) => file.default);
const examples = new Map<string, string>();
afterAll(hangUp);

/** A refusal leaves the scene as it is. */
const isRefused = ([, , , comes, ...checks]: Row) =>
  (typeof comes === "string" || comes < 0) && checks.every((check) => typeof check !== "function");

describe.concurrent.each(sections)("$title", ({ rows, shared }) => {
  const common = new Scene();
  const seen = new Map<string, number>();
  for (const row of rows) {
    const [line, as, request, comes] = row;
    const [what, ...rest] = typeof request === "string" ? [request] : request;
    const isFirst = !seen.has(line);
    seen.set(line, (seen.get(line) ?? 0) + 1);
    test(`${line} ${as}: ${what} ${JSON.stringify(rest).slice(1, -1).slice(0, 80)} → ${comes} (row ${seen.get(line)})`, async () => {
      const scene = shared || isRefused(row) ? common : new Scene();
      const [, ...step] = row;
      const answer = await run(step, scene);
      if (isFirst) examples.set(line, await exampleOf(answer, scene));
    });
  }
});

const lines = [...textOf("docs/specification.md").matchAll(/^(?:- \*\*|\| )(\d+(?:\.\d+)+)/gm)].map(([, line]) => line);

test("every line of the specification has a row, and every row its line", () => {
  const named = new Set(sections.flatMap(({ rows }) => rows.map(([line]) => line as string)));
  expect([...named].sort(byNumber)).toEqual(lines.toSorted((one, other) => byNumber(one ?? "", other ?? "")));
});

// `npx vitest run tests/specification -u` writes the page again.
test("the page of examples is that of the rows", async () => {
  await expect(pageOf(examples)).toMatchFileSnapshot("../../docs/specification-examples.md");
});
