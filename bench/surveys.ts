import { parseArgs } from "node:util";
import type { Sql } from "../local/postgres/database.ts";
import type { Stack } from "../local/stack.ts";
import { localName, writeResults } from "./about.ts";
import { addUsers, type Board, signIn } from "./board.ts";
import { startGenerator } from "./generator.ts";
import type { Measured } from "./load.ts";
import { median, rounded } from "./report.ts";
import type { RequestName } from "./requests.ts";
import { onOwnStack, say } from "./stack.ts";

// Compares a survey of a million responses with one of a thousand: submitting, and reading its analytics.

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "3" },
    rounds: { type: "string", default: "5" },
    responses: { type: "string", default: "1000,100000,1000000" },
    /** Name of the result file in bench/results; *.local.json is not committed. */
    name: { type: "string", default: localName("surveys") },
  },
});
const settings = {
  seconds: Number(flags.seconds),
  rounds: Number(flags.rounds),
  connections: 16,
  database_connections: 8,
};
const sizes = flags.responses.split(",").map(Number);
const names = ["respond", "analytics", "responses, newest"] as const satisfies RequestName[];
/** Enough that nobody answers a survey twice. */
const respondents = 20_000;

await onOwnStack(bench, {
  functionsEnvironment: { DATABASE_CONNECTIONS: String(settings.database_connections) },
});

async function bench(stack: Stack, sql: Sql): Promise<void> {
  const board = await load(stack, sql);
  const generator = startGenerator(board);
  const measured = new Map<string, Measured[]>();
  const run = (name: RequestName, survey: number, seconds: number) =>
    generator.measure({
      origin: stack.base_url,
      name,
      connections: settings.connections,
      seconds,
      survey,
    });
  try {
    for (const name of names) {
      for (const survey of sizes.keys()) await run(name, survey, 1);
      for (let round = 0; round < settings.rounds; round++) {
        // Alternate the order, so that load from other programs affects all sides alike.
        for (let turn = 0; turn < sizes.length; turn++) {
          const survey = (round + turn) % sizes.length;
          const key = keyOf(name, survey);
          measured.set(key, [...(measured.get(key) ?? []), await run(name, survey, settings.seconds)]);
        }
      }
      say(`${name} measured`);
    }
  } finally {
    generator.stop();
  }
  const mistakes = await sql`select * from private.count_discrepancies()`;
  if (mistakes.length > 0) throw new Error(`${mistakes.length} counts are wrong`);
  const results = names.map((name) => summarize(name, measured));
  for (const { name, by_responses, ratio, p50_ratio, ratios } of results) {
    console.log(
      `${name}: last to first ${ratio} (${Math.min(...ratios)} to ${Math.max(...ratios)}), p50 ${p50_ratio}`,
    );
    console.table(by_responses);
  }
  await writeResults(flags.name, sql, settings, { results });
}

function keyOf(name: RequestName, survey: number): string {
  return `${name} ${survey}`;
}

/**
 * Medians over the rounds. A ratio is the cost with the most responses divided by that with the fewest, in the same
 * round.
 */
function summarize(name: RequestName, measured: Map<string, Measured[]>) {
  const rounds = (survey: number) => measured.get(keyOf(name, survey)) ?? [];
  const first = rounds(0);
  const last = rounds(sizes.length - 1);
  const costs = (cost: (round: Measured) => number) =>
    first.map((round, i) => rounded(cost(last[i] ?? round) / cost(round), 2));
  const ratios = costs(({ requestsPerSecond }) => 1 / requestsPerSecond);
  return {
    name,
    aim: 1.5,
    ratio: rounded(median(ratios), 2),
    ratios,
    p50_ratio: rounded(median(costs(({ p50 }) => p50)), 2),
    p99_ratio: rounded(median(costs(({ p99 }) => p99)), 2),
    by_responses: sizes.map((responses, survey) => ({
      responses,
      requests_per_second: Math.round(median(rounds(survey).map((round) => round.requestsPerSecond))),
      p50_ms: rounded(median(rounds(survey).map(({ p50 }) => p50)), 2),
      p99_ms: rounded(median(rounds(survey).map(({ p99 }) => p99)), 2),
    })),
  };
}

async function load(stack: Stack, sql: Sql): Promise<Board> {
  await sql`update private.rate_limit_rules set max_requests = 2000000000`;
  const [owner = ""] = await addUsers(sql, "owner", 1);
  const people = await addUsers(sql, "person", respondents);
  const [organization] = await sql<{ id: string }[]>`
    select private.create_organization('Bench', 'bench', 'public', ${owner}) as id`;
  if (!organization) throw new Error("no organization was made");
  const callers = await signIn(stack, [owner, ...people]);
  await sql`
    insert into public.profiles (organization_id, kind, email, name)
    select ${organization.id}, 'email', 'past-' || n || '@bench.example', 'Past ' || n
    from generate_series(1, ${Math.max(...sizes)}::integer) n`;
  const surveys = [];
  for (const size of sizes) {
    const survey = await makeSurvey(stack, callers[0]?.token ?? "", size);
    await fill(sql, survey, organization.id, size);
    surveys.push(survey);
    say(`a survey of ${size} responses made`);
  }
  for (const table of ["public.profiles", "public.survey_responses", "private.survey_counts"]) {
    await sql.unsafe(`vacuum (analyze) ${table}`);
  }
  return {
    organizationId: organization.id,
    publishableKey: stack.publishable_key,
    submissionIds: [],
    keys: [],
    callers,
    surveys,
  };
}

async function makeSurvey(stack: Stack, token: string, size: number) {
  const call = async (path: string, method: string, body: object = {}) => {
    const init = method === "GET" ? {} : { body: JSON.stringify(body) };
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const response = await fetch(`${stack.base_url}/api/surveys${path}`, { method, headers, ...init });
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}`);
    return ((await response.json()) as { data: { id: string; questions?: { id: string }[] } }).data;
  };
  const { id } = await call("", "POST", {
    title: `A survey of ${size}`,
    questions: [
      { type: "nps", text: "Would you recommend us?" },
      { type: "rating", text: "How easy was it?" },
      {
        type: "multiple_choice",
        text: "What for?",
        options: [1, 2, 3, 4, 5].map((n) => `Option ${n}`),
      },
      { type: "text", text: "What else?" },
    ],
  });
  await call(`/${id}/publish`, "POST");
  const { questions = [] } = await call(`/${id}?expand=questions`, "GET");
  return { id, questionIds: questions.map((question) => question.id) };
}

/** Trigger effects are applied in bulk: values in their stored form, and counters computed from them. */
async function fill(
  sql: Sql,
  { id, questionIds }: { id: string; questionIds: string[] },
  organizationId: string,
  size: number,
): Promise<void> {
  const [nps = "", rating = "", choice = "", text = ""] = questionIds;
  await sql.begin(async (transaction) => {
    await transaction`set local statement_timeout = 0`;
    await transaction`alter table public.survey_responses disable trigger user`;
    await transaction`
      insert into public.survey_responses
        (organization_id, survey_id, user_id, answers, locale, started_at, submitted_at, sentiment_score, sentiment_engine)
      select ${organizationId}, ${id}, p.id, jsonb_build_array(
          jsonb_build_object('question_id', ${nps}::text, 'value', p.n % 11),
          jsonb_build_object('question_id', ${rating}::text, 'value', 1 + p.n % 5),
          jsonb_build_object('question_id', ${choice}::text, 'value', 'Option ' || 1 + p.n % 5),
          jsonb_build_object('question_id', ${text}::text, 'value', 'Answer ' || p.n || ': it works, but I would like it faster.')),
        'en', now() - p.n * interval '10 seconds' - interval '1 minute', now() - p.n * interval '10 seconds',
        (p.n % 201 - 100) / 100.0, 'lexicon-1'
      from (select id, row_number() over () as n from public.profiles where kind = 'email' limit ${size}) p
      order by p.n desc`;
    await transaction`set constraints all immediate`;
    await transaction`alter table public.survey_responses enable trigger user`;
    await transaction`select private.recount_survey(${id})`;
  });
}
