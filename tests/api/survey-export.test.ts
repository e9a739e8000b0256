import { describe, expect, it } from "vitest";
import { sql, stack } from "../stack.ts";
import { type Caller, send } from "./client.ts";
import { answersTo, behindTriggers, type MadeSurvey, newSurvey, respond } from "./survey-world.ts";
import { newOrganization, newUser, type User } from "./world.ts";

const organization = await newOrganization();
const admin = await newUser("Ada Admin", { organization, role: "admin" });

const fetchCsv = (id: string, query = "", as: Caller = admin) =>
  send("GET", `/api/surveys/${id}/responses?format=csv${query}`, { as });

/** Parses RFC 4180 after a byte order mark strictly: lines end in CRLF, a quote within quotes is doubled, nothing follows a closing quote. */
function parseCsv(file: string): string[][] {
  expect(file.startsWith("\uFEFF")).toBe(true);
  const text = file.slice(1);
  const rows: string[][] = [[]];
  let read = 0;
  for (const [cell, quoted, plain = "", end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy)) {
    rows.at(-1)?.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end !== ",") rows.push([]);
    read += cell.length;
  }
  expect(text.slice(read)).toBe("");
  expect(rows.pop()).toEqual([]);
  return rows;
}

const known = "id,respondent_id,respondent,locale,started_at,submitted_at,duration_seconds,sentiment,sentiment_score";

async function insert(survey: MadeSurvey, user: User, values: Record<number, unknown>, more: object = {}) {
  const answers = sql.json(answersTo(survey, values) as never);
  await sql`insert into public.survey_responses ${sql({ survey_id: survey.id, user_id: user.id, answers, ...more })}`;
}

const maxQuestions = Array.from({ length: 200 }, (_, n) => ({ type: "text", text: `Question ${n}` }));
const essay = "x".repeat(5000);
const essays = Object.fromEntries(maxQuestions.map((_, n) => [n, essay]));

/** A survey with responses of a megabyte each. */
async function newLongSurvey(responses: number): Promise<MadeSurvey> {
  const settings = { allow_multiple_responses: true };
  const survey = await newSurvey(admin, organization, { settings, questions: maxQuestions });
  const answers = JSON.stringify(answersTo(survey, essays));
  await behindTriggers(
    (tx) => tx`insert into public.survey_responses (organization_id, survey_id, user_id, answers, is_only)
      select ${organization.id}, ${survey.id}, ${admin.id}, ${answers}::text::jsonb, false from generate_series(1, ${responses})`,
  );
  return survey;
}

describe("the export", () => {
  it("is a CSV file with one column per question, newest first", async () => {
    const survey = await newSurvey(admin, organization);
    const person = await newUser("Rosa Respondent");
    const values = { 0: 9, 1: 4, 2: "iOS", 3: ["Votes", "Surveys"], 4: "More", 5: "rosa@example.org" };
    await insert(survey, person, values, {
      locale: "de",
      started_at: "2026-01-01T12:00:00Z",
      submitted_at: "2026-01-01T12:01:30Z",
    });
    await insert(survey, await newUser("Ben Brief"), { 0: 0 }, { submitted_at: "2026-01-02T00:00:00Z" });
    const { status, headers, text } = await fetchCsv(survey.id);
    expect(status, text).toBe(200);
    expect(headers["content-type"]).toBe("text/csv; charset=utf-8");
    expect(headers["content-disposition"]).toBe(`attachment; filename="survey-${survey.id}.csv"`);
    const [head, ...rows] = parseCsv(text);
    expect(head).toEqual([...known.split(","), ...survey.questions.map(({ text }) => text)]);
    expect(rows.map((row) => row.slice(2))).toEqual([
      ["Ben Brief", "", "", "2026-01-02T00:00:00+00:00", "", "negative", "-1", "0", "", "", "", "", ""],
      [
        "Rosa Respondent",
        "de",
        "2026-01-01T12:00:00+00:00",
        "2026-01-01T12:01:30+00:00",
        "90",
        "positive",
        "0.55",
        "9",
        "4",
        "iOS",
        "Votes; Surveys",
        "More",
        "rosa@example.org",
      ],
    ]);
    expect(rows[1]?.[1]).toBe(person.id);
  });

  it("keeps quotes, commas, line breaks and every script", async () => {
    const questions = [{ type: "text", text: 'Say "why", please' }];
    const survey = await newSurvey(admin, organization, { questions });
    const text = 'He said "no, thanks",\r\nthen left.\n\n日本語 😀 — ñ';
    await respond(survey, await newUser('Comma, "Quote"'), { 0: text });
    const [head, row] = parseCsv((await fetchCsv(survey.id)).text);
    expect(head?.at(-1)).toBe('Say "why", please');
    expect([row?.[2], row?.at(-1)]).toEqual(['Comma, "Quote"', text]);
  });

  it.each(["=1+1", "+1", "-1", "@SUM(A1)", '=HYPERLINK("http://x","y")', "＝1", "－1"])(
    "escapes the formula %j as text",
    async (text) => {
      const questions = [
        { type: "text", text },
        { type: "multiple_choice", text: "Which?", options: [text, "other"] },
      ];
      const survey = await newSurvey(admin, organization, { questions });
      await respond(survey, await newUser(text), { 0: text, 1: text });
      const [head, row] = parseCsv((await fetchCsv(survey.id)).text);
      for (const cell of [head?.at(-2), row?.[2], row?.at(-2), row?.at(-1)]) expect(cell).toBe(`'${text}`);
    },
  );

  it("separates several options so that no two answers look the same", async () => {
    const options = ["Mail; fax", "Mail", "fax", '"Mail"', '"Mail; fax"', "Mail;fax", "a, b", "=1", "; -2", "end;"];
    const questions = [{ type: "multiple_choice", text: "How?", options, multiple: true }];
    const survey = await newSurvey(admin, organization, { questions });
    const cells: [string[], string][] = [
      [["Mail", "fax"], "Mail; fax"],
      [["Mail; fax"], '"Mail; fax"'],
      [["Mail; fax", "Mail"], '"Mail; fax"; Mail'],
      [['"Mail; fax"'], '"""Mail; fax"""'],
      [["fax", '"Mail"'], 'fax; """Mail"""'],
      [["Mail;fax"], '"Mail;fax"'],
      [["fax", "a, b"], "fax; a, b"],
      [["Mail", "=1"], "Mail;' =1"],
      [["Mail", "; -2"], `Mail; ";' -2"`],
      [["fax", "end;"], 'fax; "end;"'],
    ];
    for (const [chosen] of cells) await respond(survey, await newUser(), { 0: chosen });
    const rows = parseCsv((await fetchCsv(survey.id)).text).slice(1);
    expect(rows.map((row) => row.at(-1)).toReversed()).toEqual(cells.map(([, cell]) => cell));
  });

  it("contains only the header without responses", async () => {
    const survey = await newSurvey(admin, organization);
    expect(parseCsv((await fetchCsv(survey.id)).text)).toHaveLength(1);
  });

  it("accepts the filters of the list, and neither page nor limit", async () => {
    const survey = await newSurvey(admin, organization);
    for (const [n, day] of ["01", "02", "03"].entries()) {
      await insert(survey, await newUser(), { 0: n === 1 ? 0 : 10 }, { submitted_at: `2026-01-${day}T00:00:00Z` });
    }
    const daysOf = async (query: string) =>
      parseCsv((await fetchCsv(survey.id, query)).text)
        .slice(1)
        .map((row) => row[5]?.slice(8, 10));
    expect(await daysOf("&limit=1&page=2")).toEqual(["03", "02", "01"]);
    expect(await daysOf("&sentiment=positive")).toEqual(["03", "01"]);
    expect(await daysOf("&end_date=2026-01-02")).toEqual(["02", "01"]);
  });

  // Parts end at 5,000 rows or 4 MB.
  it("is complete in any number of parts, of many rows or of large ones", async () => {
    const settings = { allow_multiple_responses: true };
    const many = await newSurvey(admin, organization, { settings, questions: [{ type: "nps", text: "Well?" }] });
    await behindTriggers(
      (
        tx,
      ) => tx`insert into public.survey_responses (organization_id, survey_id, user_id, answers, is_only, submitted_at)
        select ${organization.id}, ${many.id}, ${admin.id}, '[]', false, timestamptz '2026-01-01' + n / 2 * interval '1 second'
        from generate_series(0, 5001) n`,
    );
    const rows = parseCsv((await fetchCsv(many.id)).text).slice(1);
    expect(new Set(rows.map(([id]) => id)).size).toBe(5002);
    expect(rows.map((row) => row[5])).toEqual(
      rows
        .map((row) => row[5])
        .toSorted()
        .toReversed(),
    );

    const large = await newLongSurvey(6);
    const lines = parseCsv((await fetchCsv(large.id)).text).slice(1);
    expect(lines).toHaveLength(6);
    for (const line of lines) expect(line.slice(9).every((cell) => cell === essay)).toBe(true);
  });

  it("is cut off, so that it cannot look complete, when the survey is deleted meanwhile", async () => {
    // More data than all sockets and processes in between can buffer, so the export is incomplete when the survey is
    // deleted.
    const survey = await newLongSurvey(60);
    const response = await fetch(`${stack.base_url}/api/surveys/${survey.id}/responses?format=csv`, {
      headers: { authorization: `Bearer ${admin.token}` },
    });
    const reader = response.body?.getReader();
    await reader?.read();
    await sql.begin(async (tx) => {
      await tx`set local feedback.force = 'on'`;
      await tx`delete from public.surveys where id = ${survey.id}`;
    });
    const rest = async () => {
      for (let part = await reader?.read(); part && !part.done; part = await reader?.read());
    };
    await expect(rest()).rejects.toThrow();
  });

  it("waits when the rate limit is reached, and continues", async () => {
    const patient = await newUser("Pat Patient", { organization, role: "admin" });
    const survey = await newLongSurvey(6);
    await fetchCsv(survey.id, "&start_date=2999-01-01", patient);
    // One request is left, enough for the first of two parts, and the rate limit window ends in a second.
    await sql`update private.rate_counters c set started_at = now() - make_interval(secs => r.window_seconds - 1), used = r.max_requests - 1
      from private.rate_limit_rules r where r.name = c.rule and c.subject = ${patient.id}`;
    const { status, text } = await fetchCsv(survey.id, "", patient);
    expect(status, text.slice(0, 200)).toBe(200);
    expect(parseCsv(text)).toHaveLength(7);
  });
});
