import { describe, expect, it } from "vitest";
import { searchSubmissions } from "../../functions/_shared/statements/submissions.ts";
import { jsonLines } from "../json-lines.ts";
import { asAnonymous, newBoard, temporaryDatabase } from "./database.ts";

// Judged queries: judged.jsonl contains submissions by language, and queries with the submissions that a person means.
// Add your own: a query that fails is more useful than one that works.

type Submission = { language: string; id: string; title: string; description: string };
type Query = { language: string; q: string; finds: string[]; kind: string };
const rows = jsonLines<Submission | Query>(new URL("judged.jsonl", import.meta.url));
const judgedSubmissions = rows.filter((row) => "id" in row);
const judgedQueries = rows.filter((row) => "q" in row);
/** The search configuration of Postgres for each language; `simple` for those without a stemmer. */
const configurations: Record<string, string> = {
  en: "english",
  de: "german",
  fr: "french",
  es: "spanish",
  it: "italian",
  "pt-BR": "portuguese",
  ru: "russian",
};

const database = temporaryDatabase();

/** The rank of the first expected result of each query; 0 if there is none. */
type Ranks = { found: number[]; plain: number[] };

async function ranksOf(name: string, languages: string[]): Promise<Ranks> {
  const sql = database.sql();
  const submissions = judgedSubmissions
    .filter(({ language }) => languages.includes(language))
    .map((one) => ({ ...one, id: `${one.language} ${one.id}` }));
  const board = await newBoard(sql, name, submissions);
  // A query takes far longer on the board of all languages, so only every third query runs there.
  const asked = judgedQueries.filter(
    (one, n) => languages.includes(one.language) && (languages.length === 1 || n % 3 === 0),
  );
  const idOf = new Map(submissions.map(({ id }, n) => [id, board.ids[n]]));
  const ranks: Ranks = { found: [], plain: [] };
  for (const { language, q, finds } of asked) {
    const expected = finds.map((id) => idOf.get(`${language} ${id}`));
    const rankIn = (ids: string[]) => ids.findIndex((id) => expected.includes(id)) + 1;
    const [page] = await asAnonymous(sql, board.id, async () => [
      ...(await searchSubmissions({ q, page: 1, limit: 20, cursor: undefined, status: undefined, type: undefined })(
        sql,
      )),
    ]);
    const found = JSON.parse(page?.data ?? "[]") as { id: string }[];
    ranks.found.push(rankIn(found.map(({ id }) => id)));
    if (languages.length > 1) continue;
    const configuration = configurations[language] ?? "simple";
    const plain = await sql<{ id: string }[]>`
        select s.id from public.submissions s, websearch_to_tsquery(${configuration}::regconfig, ${q}) words
        where s.organization_id = ${board.id}
          and to_tsvector(${configuration}::regconfig, s.title || ' ' || s.description) @@ words
        order by ts_rank(setweight(to_tsvector(${configuration}::regconfig, s.title), 'A')
          || to_tsvector(${configuration}::regconfig, s.description), words) desc limit 20`;
    ranks.plain.push(rankIn(plain.map(({ id }) => id)));
  }
  return ranks;
}

const share = (ranks: number[], within: number) =>
  ranks.filter((rank) => rank > 0 && rank <= within).length / Math.max(1, ranks.length);
const reciprocal = (ranks: number[]) =>
  ranks.reduce((sum, rank) => sum + (rank > 0 ? 1 / rank : 0), 0) / Math.max(1, ranks.length);
const figures = (ranks: number[]) => ({ in3: share(ranks, 3), in5: share(ranks, 5), mrr: reciprocal(ranks) });

describe("of judged queries", () => {
  const all = [...new Set(judgedSubmissions.map(({ language }) => language))];
  it("there are at least 200, each of which names submissions that exist", () => {
    const known = new Set(judgedSubmissions.map(({ language, id }) => `${language} ${id}`));
    const isJudged = ({ language, finds }: Query) =>
      finds.length > 0 && finds.every((id) => known.has(`${language} ${id}`));
    expect(judgedQueries.length).toBeGreaterThanOrEqual(200);
    expect(judgedQueries.filter((query) => !isJudged(query))).toEqual([]);
  });

  it.each([...all.map((language) => [language, [language]] as const), ["all in one board", all] as const])(
    "%s: 19 of 20 find what is meant within the first three, more than by a plain search",
    async (name, languages) => {
      const { found, plain } = await ranksOf(`judged-${name.toLowerCase().replaceAll(" ", "-")}`, [...languages]);
      const percent = ({ in3, in5, mrr }: ReturnType<typeof figures>) =>
        `${Math.round(in3 * 100)} % in 3, ${Math.round(in5 * 100)} % in 5, MRR ${mrr.toFixed(2)}`;
      console.info(
        `search, ${name} (${found.length} queries): ${percent(figures(found))}; websearch_to_tsquery: ${percent(figures(plain))}`,
      );
      expect(figures(found).in3).toBeGreaterThanOrEqual(0.95);
      expect(figures(found).mrr).toBeGreaterThanOrEqual(0.9);
      expect(figures(found).mrr).toBeGreaterThanOrEqual(figures(plain).mrr);
    },
    60_000,
  );
});
