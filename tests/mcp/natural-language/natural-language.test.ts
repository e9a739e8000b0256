import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { examples } from "../../../functions/mcp/natural-language/examples.ts";
import type { parse as Parse } from "../../../functions/mcp/natural-language/parse.ts";
import type { Tool } from "../../../functions/mcp/tool.ts";
import { type Locale, locales } from "../../../shared/locales.ts";
import { importFunction } from "../../import-function.ts";
import { jsonLines } from "../../json-lines.ts";

/**
 * Sentences and the expected calls: 15 for each locale, written before the parser and never used for tuning.
 * Relative dates count from Saturday, 21 November 2026.
 */
type Phrase = { locale: Locale; sentence: string; tool: string; arguments: object };
const phrases = jsonLines<Phrase>(new URL("phrases.jsonl", import.meta.url));

let tools: readonly Tool[];
let parse: typeof Parse;
const today = new Date("2026-11-21T12:00:00Z");
const id = "11111111-1111-4111-8111-111111111111";

beforeAll(async () => {
  ({ tools } = await importFunction<{ tools: Tool[] }>(new URL("../../../functions/mcp/registry.ts", import.meta.url)));
  ({ parse } = await importFunction<{ parse: typeof Parse }>(
    new URL("../../../functions/mcp/natural-language/parse.ts", import.meta.url),
  ));
});

const only = (...names: string[]) => tools.filter(({ name }) => names.includes(name));

function outcomeOf({ locale, sentence, tool, arguments: expected }: Phrase) {
  const understood = parse(sentence, tools, locale, today);
  if ("candidates" in understood) return "asked";
  if (understood.tool !== tool) return "wrong";
  return JSON.stringify(sorted(understood.arguments)) === JSON.stringify(sorted(expected)) ? "right" : "tool";
}

const sorted = (object: object) => Object.entries(object).toSorted(([a], [b]) => (a < b ? -1 : 1));

test("the evaluation matches docs/natural-language.md, at or above the target", async () => {
  const rows = locales.map((locale) => {
    const outcomes = phrases.filter((phrase) => phrase.locale === locale).map(outcomeOf);
    const count = (outcome: string) => outcomes.filter((one) => one === outcome).length;
    expect(outcomes).toHaveLength(15);
    expect(count("right") / outcomes.length, locale).toBeGreaterThanOrEqual(locale === "en" ? 0.85 : 0.7);
    return `| ${locale} | ${count("right")} | ${count("tool")} | ${count("asked")} | ${count("wrong")} |`;
  });
  const docs = await readFile(new URL("../../../docs/natural-language.md", import.meta.url), "utf8");
  expect(docs.split("\n").filter((line) => /^\| (en|es|fr|de|ru|pt-BR|ja|it) \|/.test(line))).toEqual(rows);
});

test("every tool has examples in every locale, and no unknown tool has any", () => {
  expect(Object.keys(examples).toSorted()).toEqual(tools.map(({ name }) => name).toSorted());
  for (const [tool, byLocale] of Object.entries(examples))
    for (const locale of locales) expect(byLocale[locale].length, `${tool} ${locale}`).toBeGreaterThan(0);
});

test("a tool that the agent may not use is never a candidate", () => {
  const readOnly = tools.filter(({ annotations }) => annotations.readOnlyHint);
  const understood = parse(`Delete the survey ${id}`, readOnly, "en", today);
  const named = "candidates" in understood ? understood.candidates.map(({ tool }) => tool) : [understood.tool];
  expect(named).not.toContain("delete_survey");
  expect(parse(`Delete the survey ${id}`, [], "en", today)).toEqual({ candidates: [] });
});

describe("ambiguous sentences return candidates", () => {
  test.each([
    ["nothing to do with it", "Qwertz uiop"],
    ["no survey named", "Publish the survey"],
    ["nothing but an id", id],
    ["one of two to merge", `Merge ${id}`],
  ])("%s", (_, say) => {
    expect(parse(say, tools, "en", today)).toHaveProperty("candidates");
  });

  test("with the missing arguments", () => {
    expect(parse("Publish the survey", only("publish_survey"), "en", today)).toEqual({
      candidates: [{ tool: "publish_survey", score: expect.any(Number), missing: ["survey_id"] }],
    });
  });
});

describe("arguments", () => {
  test.each([
    ["the top 5 ideas", "list_submissions", { type: "idea", sort: "votes", limit: 5 }],
    [`Comment on ${id}: "delete the survey"`, "add_comment", { submission_id: id, body: "delete the survey" }],
    [
      'Create a survey "Third quarter" asking "How was it?" and "Why?"',
      "create_survey",
      {
        title: "Third quarter",
        questions: [
          { type: "text", text: "How was it?" },
          { type: "text", text: "Why?" },
        ],
      },
    ],
    [
      `List the answers to survey ${id} since yesterday`,
      "list_survey_responses",
      { survey_id: id, start_date: "2026-11-20" },
    ],
    [
      `List the answers to survey ${id} until 3 November 2026`,
      "list_survey_responses",
      { survey_id: id, end_date: "2026-11-03" },
    ],
    [
      `List the answers to survey ${id} from 2026-11-01 to 2026-11-10`,
      "list_survey_responses",
      { survey_id: id, start_date: "2026-11-01", end_date: "2026-11-10" },
    ],
  ])("%s", (say, tool, expected) => {
    expect(parse(say, tools, "en", today)).toMatchObject({ tool, arguments: expected });
  });
});

test("unusual sentences get a result, fast enough for a request", () => {
  for (const say of [
    "“".repeat(1000),
    "1 ".repeat(500),
    `${"a".repeat(999)}!`,
    "\u200b".repeat(1000),
    "«»".repeat(500),
  ])
    expect(parse(say, tools, "ja", today)).toBeDefined();
});
