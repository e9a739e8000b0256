import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { parseArgs } from "node:util";
import { csvLine } from "../functions/_shared/files/csv.ts";
import { createApiKey } from "../local/operator/api-keys.ts";
import type { Sql } from "../local/postgres/database.ts";
import type { Stack } from "../local/stack.ts";
import { zipOf } from "../tests/zip.ts";
import { localName, writeResults } from "./about.ts";
import { cpuSeconds, forgetPeak, functionsPid, peakMegabytes } from "./process.ts";
import { onOwnStack } from "./stack.ts";

// Import and export through the API: records per second, and memory and CPU of the functions.

const { values: flags } = parseArgs({
  options: {
    rows: { type: "string", default: "100000" },
    /** Name of the result file in bench/results; *.local.json is not committed. */
    name: { type: "string", default: localName("import") },
  },
});
const rows = Number(flags.rows);
const people = 5_000;
const sentence = "The list should remember what I filtered by when I come back to it from a detail page. ";

interface Step {
  name: string;
  records: number;
  megabytes: number;
  seconds: number;
  records_per_second: number;
  /** Total of the functions' process. */
  peak_megabytes: number;
  /** CPU of the functions: during the upload, and in total. */
  receive_cpu_seconds: number | null;
  cpu_seconds: number;
}

await onOwnStack(bench);

async function bench(stack: Stack, sql: Sql): Promise<void> {
  const [organization] = await sql<{ id: string }[]>`
    insert into public.organizations (slug, name) values ('bench', 'Bench') returning id`;
  if (!organization) throw new Error("no organization");
  const key = await createApiKey(sql, organization.id, "bench", ["submissions:moderate"], null);
  const call = (path: string, body?: AsyncIterable<string | Uint8Array>, type = "text/csv") =>
    fetch(`${stack.base_url}/api/admin/${path}`, {
      headers: { authorization: `Bearer ${key}`, ...(body && { "content-type": type }) },
      ...(body && { method: "POST", body: Readable.toWeb(Readable.from(body)) as never, duplex: "half" }),
    } as RequestInit);
  const pid = await functionsPid();
  const idle = await peakMegabytes(pid);
  const steps: Step[] = [];
  let receivedCpu: number | null = null;
  const rounded = (seconds: number) => Math.round(seconds * 100) / 100;
  const processed = async (answer: Response): Promise<number> => {
    // Records written during the upload count as upload; a small error.
    receivedCpu = await cpuSeconds(pid);
    const text = await answer.text();
    if (answer.status !== 202) throw new Error(text);
    const { id } = (JSON.parse(text) as { data: { id: string } }).data;
    for (;;) {
      // Asks the database: API calls would be rate limited and cost the functions CPU.
      const [job] = await sql<{ state: string; failed: number; processed: number; problem: string | null }[]>`
        select state, failed, processed, problem from private.imports where id = ${id}`;
      if (!job) throw new Error("no import");
      const { state, failed, processed } = job;
      if (failed > 0 || state === "failed") throw new Error(JSON.stringify(job));
      if (state === "completed") return processed;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  };
  const measure = async (name: string, work: () => Promise<{ records: number; bytes: number }>) => {
    await forgetPeak(pid);
    const startedAt = performance.now();
    const cpuBefore = await cpuSeconds(pid);
    receivedCpu = null;
    const { records, bytes } = await work();
    const seconds = (performance.now() - startedAt) / 1000;
    steps.push({
      name,
      records,
      megabytes: Math.round(bytes / 1e5) / 10,
      seconds: Math.round(seconds * 10) / 10,
      records_per_second: Math.round(records / seconds),
      peak_megabytes: await peakMegabytes(pid),
      receive_cpu_seconds: receivedCpu === null ? null : rounded(receivedCpu - cpuBefore),
      cpu_seconds: rounded((await cpuSeconds(pid)) - cpuBefore),
    });
    console.table(steps.slice(-1));
  };
  const send = (path: string, lines: () => Generator<string>, type?: string) => async () => {
    let bytes = 0;
    const counted = async function* () {
      // In chunks, as curl sends a file.
      let piece = "";
      for (const line of lines()) {
        piece += line;
        if (piece.length < 65_536) continue;
        bytes += Buffer.byteLength(piece);
        yield piece;
        piece = "";
      }
      bytes += Buffer.byteLength(piece);
      yield piece;
    };
    return { records: await processed(await call(path, counted(), type)), bytes };
  };
  await measure("import submissions, CSV", send("import", submissions));
  await measure("the same again", send("import", submissions));
  await measure("import votes, JSON lines", send("import?what=votes", votes, "application/x-ndjson"));
  await measure("import comments, CSV", send("import?what=comments", comments));
  await measure("import a backup of Fider: posts and votes, zip", async () => {
    const zip = backup();
    const body = (async function* () {
      for (let at = 0; at < zip.length; at += 65_536) yield zip.subarray(at, at + 65_536);
    })();
    const records = await processed(await call("import?format=fider", body, "application/zip"));
    return { records, bytes: zip.length };
  });
  await measure("export everything, JSON", async () => {
    const answer = await call("export");
    let bytes = 0;
    let records = -1;
    for await (const part of answer.body as ReadableStream<Uint8Array>) {
      bytes += part.length;
      for (const byte of part) if (byte === 10) records++;
    }
    return { records, bytes };
  });
  const mistakes = await sql`select * from private.count_discrepancies()`;
  if (mistakes.length > 0) throw new Error(`${mistakes.length} counts are wrong`);
  await writeResults(flags.name, sql, { rows }, { idle_megabytes: idle, steps });
}

function author(n: number): string {
  return `person-${n % people}@bench.example`;
}

function* submissions(): Generator<string> {
  yield csvLine([
    "id",
    "title",
    "description",
    "type",
    "status",
    "category",
    "tags",
    "author_email",
    "created_at",
  ]);
  for (let n = 0; n < rows; n++)
    yield csvLine([
      `s${n}`,
      `Feature number ${n} that somebody wants`,
      `${sentence.repeat(1 + (n % 5))}Number ${n}.`,
      n % 3 === 0 ? "problem" : "idea",
      n % 4 === 0 ? "planned" : "open",
      `Area ${n % 12}`,
      `tag-${n % 30}, tag-${n % 7}`,
      author(n),
      new Date(Date.UTC(2024, 0, 1) + n * 60_000).toISOString(),
    ]);
}

function* votes(): Generator<string> {
  for (let n = 0; n < rows; n++) {
    const submission_id = `s${Math.floor((n * n) % rows)}`;
    yield `${JSON.stringify({ submission_id, author_email: author(n * 7 + 1), created_at: "2026-01-01T00:00:00Z" })}\n`;
  }
}

function* comments(): Generator<string> {
  yield csvLine(["id", "submission_id", "parent_id", "body", "author_email", "created_at"]);
  for (let n = 0; n < rows; n++)
    yield csvLine([
      `c${n}`,
      `s${Math.floor(n / 4)}`,
      n % 4 === 3 ? `c${n - 1}` : "",
      `${sentence}${n}`,
      author(n),
      "2026-01-01T00:00:00Z",
    ]);
}

function backup(): Uint8Array {
  const created_at = "2025-01-01T00:00:00Z";
  const many = (count: number, made: (n: number) => object) =>
    JSON.stringify(Array.from({ length: count }, (_, n) => made(n)));
  return zipOf([
    [
      "posts.json",
      many(rows, (n) => ({
        ...{ id: n, number: n + 1, title: `Post number ${n} that somebody wants`, description: sentence },
        ...{ status: n % 5, user_id: n % people, created_at, is_approved: true, original_id: null },
      })),
    ],
    ["post_votes.json", many(rows, (n) => ({ post_id: n, user_id: (n * 7 + 1) % people, created_at }))],
    ["users.json", many(people, (n) => ({ id: n, name: `Person ${n}`, email: author(n) }))],
  ]);
}
