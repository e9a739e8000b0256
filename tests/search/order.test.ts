import { describe, expect, it } from "vitest";
import { randomFrom } from "../../bench/text.ts";
import type { Sql } from "../../functions/_shared/database/run.ts";
import { newBoard, temporaryDatabase } from "./database.ts";

// The order of results, compared with all submissions of random boards evaluated one by one: docs/api.md has its rules.

const database = temporaryDatabase();
/** SEARCH_CASES=10000 tries more. */
const cases = Number(process.env.SEARCH_CASES ?? 240);
const size = 2_500;

/** Few words, so that each is common; some begin like others or have other endings. */
const words = [
  ..."export exports exporting exporter import imports mail mails mailing dark darker theme themes".split(" "),
  ..."calendar calendars report reports search searching filter filters print printing log login".split(" "),
  ..."the and to for with of rare seldom scarce e-mail plugin plug-in v2.5 2024 café naïve Größe".split(" "),
];
const random = randomFrom(36);
const oneOf = <Item>(list: readonly Item[]): Item => list[Math.floor(random() ** 1.5 * list.length)] as Item;
const text = (length: number) => Array.from({ length }, () => oneOf(words)).join(" ");

const votesOf: Record<string, () => number> = {
  "equal votes": () => 1,
  "votes of a power law": () => Math.min(5_000, Math.floor((1 - random()) ** -0.8)),
  "votes from 0 to 9": () => Math.floor(random() * 10),
};

const query = () => {
  const part = () => {
    const kind = random();
    const word = oneOf(words);
    if (kind < 0.5) return word;
    if (kind < 0.65) return word.slice(0, 1 + Math.floor(random() * 4));
    if (kind < 0.75) return `"${text(1 + Math.floor(random() * 2))}"`;
    if (kind < 0.85) return `-${word}`;
    return `${word} or ${oneOf(words)}`;
  };
  return Array.from({ length: 1 + Math.floor(random() * 3) }, part).join(" ");
};

type Row = { id: string; votes: number; type: string; title: string[]; text: string[] };
type Parsed = Record<
  "title_phrase" | "title_whole" | "title_ending" | "title_any" | "title_some" | "text_ending" | "text_any",
  string | null
>;
/** One bit for each row. */
type Bits = Uint32Array;

/** Evaluates the text of a tsquery for all rows at once. */
function evaluator(rows: Row[]) {
  const length = Math.ceil(rows.length / 32);
  const none = new Uint32Array(length);
  const sets = { title: new Map<string, Bits>(), text: new Map<string, Bits>() };
  for (const [n, row] of rows.entries())
    for (const place of ["title", "text"] as const)
      for (const lexeme of row[place]) {
        const set = sets[place].get(lexeme) ?? new Uint32Array(length);
        set[n >> 5] = (set[n >> 5] ?? 0) | (1 << (n & 31));
        sets[place].set(lexeme, set);
      }
  return (place: "title" | "text", source: string | null): Bits => {
    if (source === null) return none;
    const tokens = source.match(/'(?:[^']|'')*'|[&|!()]/g) ?? [];
    let at = 0;
    const series = (operator: string, operand: () => Bits, use: (x: number, y: number) => number) => {
      let left = operand();
      while (tokens[at] === operator) {
        at++;
        const right = operand();
        left = left.map((value, n) => use(value, right[n] ?? 0));
      }
      return left;
    };
    const either = (): Bits => series("|", both, (x, y) => x | y);
    const both = (): Bits => series("&", one, (x, y) => x & y);
    const one = (): Bits => {
      const token = tokens[at++] ?? "";
      if (token === "!") return one().map((value) => ~value);
      if (token !== "(") return sets[place].get(token.slice(1, -1).replaceAll("''", "'")) ?? none;
      const inner = either();
      at++;
      return inner;
    };
    return either();
  };
}

/** All matches in order, with their class. */
function scan(
  rows: Row[],
  evaluate: ReturnType<typeof evaluator>,
  parsed: Parsed,
  type: string | undefined,
): [id: string, place: string][] {
  const matches = evaluate("text", parsed.text_any);
  const classes = [
    evaluate("title", parsed.title_phrase),
    evaluate("title", parsed.title_whole),
    evaluate("title", parsed.title_ending),
    evaluate("title", parsed.title_any),
    evaluate("title", parsed.title_some),
    evaluate("text", parsed.text_ending),
    matches,
  ];
  const has = (set: Bits, n: number) => (((set[n >> 5] ?? 0) >>> (n & 31)) & 1) === 1;
  return rows
    .flatMap(({ id, votes, type: of }, n) =>
      has(matches, n) && (type ?? of) === of ? [{ id, votes, of: classes.findIndex((set) => has(set, n)) + 1 }] : [],
    )
    .sort((a, b) => a.of - b.of || b.votes - a.votes || (a.id < b.id ? 1 : -1))
    .map(({ id, of, votes }) => [id, `${of} ${votes}`]);
}

const find = async (sql: Sql, board: string, q: string, type: string | undefined, after: string, wanted: number) => {
  const [found] = await sql<[{ ids: string[]; places: string[]; match: string; total: number }]>`
    select array(select h.submission_id from unnest(f.hits) with ordinality h (submission_id, class, votes, relevance, n) order by n) as ids,
      array(select h.class || ' ' || h.votes from unnest(f.hits) with ordinality h (submission_id, class, votes, relevance, n) order by n) as places,
      f.match, f.total
    from private.find_submissions(${board}, ${q}, null, ${type ?? null}, null, null, null,
      ${after || null}::text::private.search_hit, ${wanted}, true) f`;
  return found;
};

describe("pages of results are those of a complete scan", () => {
  it.each(Object.keys(votesOf))(
    "on a board with %s",
    async (name) => {
      const sql = database.sql();
      const board = await newBoard(
        sql,
        name.replaceAll(" ", "-"),
        Array.from({ length: size }, () => ({
          title: `${text(2 + Math.floor(random() * 4))} wanted`,
          description: `${text(5 + Math.floor(random() * 12))} please, thank you`,
          votes: votesOf[name]?.() ?? 1,
        })),
      );
      await sql`update public.submissions set type = 'problem' where organization_id = ${board.id} and random() < 0.1`;
      await sql`update public.submissions set moderation_state = 'pending'
        where organization_id = ${board.id} and random() < 0.05`;
      await sql`vacuum analyze private.submission_search`;
      await sql`select private.refresh_search() from generate_series(1, 5)`;
      const rows = await sql<Row[]>`
        select s.id, s.vote_count as votes, s.type, tsvector_to_array(c.title_lexemes) as title, tsvector_to_array(c.lexemes) as text
        from private.submission_search c join public.submissions s on s.id = c.submission_id
        where c.organization_id = ${board.id} and s.is_public`;
      const evaluate = evaluator(rows);
      for (let n = 0; n < cases / Object.keys(votesOf).length; n++) {
        const q = query();
        const [parsed] = await sql<[Parsed]>`
          select p.title_phrase::text, p.title_whole::text, p.title_ending::text, p.title_any::text, p.title_some::text,
            p.text_ending::text, p.text_any::text from private.parse_search(${board.id}, ${q}) p`;
        const type = random() < 0.7 ? undefined : random() < 0.5 ? "problem" : "idea";
        const expected = scan(rows, evaluate, parsed, type);
        const limit = 1 + Math.floor(random() * 120);
        const first = await find(sql, board.id, q, type, "", limit);
        if (expected.length === 0) {
          expect({ q, match: first.match === "any" || first.ids.length === 0 }).toEqual({ q, match: true });
          continue;
        }
        expect({ q, type, limit, total: first.total, ids: first.ids }).toEqual({
          q,
          type,
          limit,
          total: expected.length,
          ids: expected.slice(0, limit).map(([id]) => id),
        });
        // A cursor can start anywhere.
        const from = Math.floor(random() * expected.length);
        const [id, place] = expected[from] ?? ["", ""];
        const rest = await find(sql, board.id, q, type, `(${id},${place.replace(" ", ",")},0)`, limit);
        expect({ q, from, place, ids: rest.ids }).toEqual({
          q,
          from,
          place,
          ids: expected.slice(from + 1, from + 1 + limit).map(([next]) => next),
        });
      }
    },
    120_000,
  );
});
