import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { scoreText } from "../../functions/_shared/sentiment/lexicon.ts";
import type { Locale } from "../../shared/locales.ts";
import { sql, stack } from "../stack.ts";

test("the scores of the demo's texts are those of the lexicon", () => {
  const seed = readFileSync(new URL("../../supabase/seed.sql", import.meta.url), "utf8");
  const table = seed.slice(seed.indexOf("insert into seed_texts values"));
  const rows = [...table.slice(0, table.indexOf(";")).matchAll(/\('([\w-]+)', -?\d, (-?[\d.]+), '((?:[^']|'')+)'\)/g)];
  expect(rows.length).toBeGreaterThan(60);
  for (const [, locale, score, text = ""] of rows) {
    expect.soft(scoreText(text.replaceAll("''", "'"), locale as Locale).score, text).toBe(Number(score));
  }
});

test("the demo has a past, a running and a planned survey, with responses in eight languages over weeks", async () => {
  const surveys = await sql`
    select s.status, count(r.id)::int as responses, count(distinct r.locale)::int as locales,
      count(distinct r.submitted_at::date)::int > 20 as for_weeks, bool_and(r.submitted_at between s.published_at and coalesce(s.closed_at, now())) as meanwhile
    from public.surveys s left join public.survey_responses r on r.survey_id = s.id
    where s.organization_id = ${stack.demo?.organization.id ?? ""} and s.created_at < now() - interval '2 days'
    group by s.id order by s.created_at`;
  expect(surveys).toMatchObject([
    { status: "archived", locales: 8, for_weeks: true, meanwhile: true },
    { status: "published", locales: 8, for_weeks: true, meanwhile: true },
    { status: "draft", responses: 0 },
  ]);
  for (const { responses } of surveys.slice(0, 2)) expect(responses).toBeGreaterThan(150);
});
