import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { importAnswer } from "../../shared/imports.ts";
import { alterSchema, sql, stack } from "../stack.ts";
import { until } from "../until.ts";
import { api, type Caller, expectError, expectJson, getJson, send } from "./client.ts";
import { endOf, importFrom, newBoard, runToEnd, sendImport } from "./imports.ts";
import { countMistakes, longEnough, newKey, newOrganization, newUser } from "./world.ts";

/** Valid rows with comments and votes, one invalid row and one duplicate. */
const rows = [...Array(129).keys(), 7].map((n) => ({
  id: `${n}`,
  title: n === 71 ? "A NUL \u0000 in it" : `Submission ${n}`,
  description: longEnough,
  author_email: `author-${n % 50}@job.example`,
  ...(n % 10 === 0 && {
    comments: [{ id: `c${n}`, body: "So it is", author_email: "someone@job.example" }],
    votes: [{ author_email: "voter@job.example" }],
  }),
}));
// A chunk has at most 500 rows or 1 MB of the file: these are three chunks.
const file = rows.map((row) => JSON.stringify(row).padEnd(20_000)).join("\n");
// 130 rows, 13 of them with a comment and a vote.
const figures = { state: "completed", processed: 156, failed: 1, skipped: 1, created: 154 };

const run = async (as: Caller, id: string) =>
  expectJson(await api("POST", `/api/admin/imports/${id}/run`, { as }), 200, importAnswer).data;
const show = async (as: Caller, id: string) => (await getJson(`/api/admin/imports/${id}`, importAnswer, { as })).data;
const cancel = (as: Caller, id: string) => api("DELETE", `/api/admin/imports/${id}`, { as });
const stored = async (id: string) =>
  (
    await sql`select from private.import_file_parts where import_id = ${id}
    union all select from private.import_ids where import_id = ${id}`
  ).length;
const contentOf = (id: string) => sql`
  select title, vote_count, comment_count from public.submissions where organization_id = ${id} order by title`;
/** Uploads a file whose import the schedule does not run. */
async function sendUnscheduled(as: Caller, query = "") {
  const { id } = await sendImport(as, JSON.stringify({ what: "is replaced" }), query);
  await endOf(as, id);
  // In parts of 1 MiB, as the service stores a file: a worker that continues reads from the part of its position.
  for (const [n, start] of [0, 2 ** 20, 2 ** 21].entries())
    await sql`insert into private.import_file_parts (organization_id, import_id, n, bytes)
      select organization_id, id, ${n}, ${Buffer.from(file).subarray(start, start + 2 ** 20)} from private.imports
      where id = ${id}`;
  await sql`update private.imports set state = 'running', position = '{"at": 0, "line": 1}', processed = 0, failed = 0,
      bytes = ${Buffer.byteLength(file)}, claimed_until = 'infinity' where id = ${id}`;
  await sql`delete from private.import_errors where import_id = ${id}`;
  return id;
}

test("an import returns 202 with its Location, and completes without further requests", async () => {
  const { organization, key } = await newBoard();
  const answer = await api("POST", "/api/admin/import", {
    as: key,
    raw: file,
    headers: { "content-type": "application/x-ndjson" },
  });
  const { id, state, bytes } = expectJson(answer, 202, importAnswer).data;
  expect({ state, bytes, location: answer.headers.location }).toEqual({
    state: "running",
    bytes: Buffer.byteLength(file),
    location: `imports/${id}`,
  });
  await until(async () => (await sql`select from private.imports where id = ${id} and state = 'completed'`).length > 0);
  expect(await show(key, id)).toMatchObject({ ...figures, bytes_read: bytes, errors: [{ line: 72 }] });
  expect(await contentOf(organization.id)).toHaveLength(128);
  expect(await countMistakes(organization)).toEqual([]);
  expect(await stored(id)).toBe(0);
  expect(await run(key, id)).toMatchObject(figures);
});

test.each(["csv", "json"])(
  "a %s read in chunks from any offset gives the same records as in one pass",
  async (type) => {
    const [whole, steps] = [await newBoard(), await newBoard()];
    const text = (n: number) => `Said "${n}", é 🦊\nand on.${type === "csv" ? "\r\n" : "\n"}`.repeat(8);
    const many = Array.from({ length: 1100 }, (_, n) => ({
      ...{ id: `${n}`, title: `Row ${n} ü`, description: text(n) },
      // Columns without use, of which JSON knows one only in the first and one in the last chunk.
      ...{ early: n === 0 ? "x" : "", late: n === 1099 ? "x" : "" },
    }));
    const cell = (value: string) => `"${value.replaceAll('"', '""')}"`;
    const raw =
      type === "json"
        ? JSON.stringify(many, null, 1)
        : `\uFEFFid;title;description;early;late\r\n${many.map((row) => Object.values(row).map(cell).join(";")).join("\r\n")}`;
    const mime = type === "json" ? "application/json" : "text/csv";
    const expected = await importFrom(whole.key, raw, "", mime);
    expect(expected).toMatchObject({ state: "completed", created: 1100, failed: 0 });
    const { id } = await sendImport(steps.key, raw, "", mime);
    await until(async () => {
      await run(steps.key, id);
      return (await show(steps.key, id)).state === "completed";
    });
    const { columns } = expected;
    expect(columns).toEqual({ unused: ["early", "late"], missing: [], mapped: {} });
    expect(await show(steps.key, id)).toMatchObject({ created: 1100, failed: 0, errors: [], columns });
    const texts = (board: typeof whole) => sql`
    select title, description from public.submissions where organization_id = ${board.organization.id} order by title`;
    expect(await texts(steps)).toEqual(await texts(whole));
  },
);

test("concurrent workers, one of which is interrupted, write and count each row once", async () => {
  const { organization, key } = await newBoard();
  const id = await sendUnscheduled(key);
  // The state after a crash: some chunks are written, the transaction of the next one is not.
  await alterSchema(`
    create function private.test_broken() returns trigger language plpgsql as
      $$ begin if new.processed > 70 and new.id = '${id}' then raise 'gone'; end if; return new; end $$;
    create trigger test_broken before update on private.imports for each row execute function private.test_broken()`);
  await until(async () => (await api("POST", `/api/admin/imports/${id}/run`, { as: key })).status === 500);
  await alterSchema("drop trigger test_broken on private.imports; drop function private.test_broken()");
  expect(await show(key, id)).toMatchObject({ state: "running", processed: 60 });

  await Promise.all(Array.from({ length: 4 }, () => api("POST", `/api/admin/imports/${id}/run`, { as: key })));
  expect(await runToEnd(key, id)).toMatchObject(figures);
  expect(await contentOf(organization.id)).toHaveLength(128);
  expect(await countMistakes(organization)).toEqual([]);
});

/** While it runs, a submission whose title ends with an SQLSTATE raises it. */
async function withErrors<Result>(organization: { id: string }, work: () => Promise<Result>): Promise<Result> {
  await alterSchema(`
    create function private.test_broken() returns trigger language plpgsql as
      $$ begin raise exception using errcode = right(new.title, 5), message = 'broken'; end $$;
    create trigger test_broken before insert on public.submissions for each row
      when (new.organization_id = '${organization.id}' and new.title like 'Broken %')
      execute function private.test_broken()`);
  try {
    return await work();
  } finally {
    await alterSchema("drop trigger test_broken on public.submissions; drop function private.test_broken()");
  }
}

test("an error of one row fails that row only, whatever its SQLSTATE", async () => {
  const { organization, key } = await newBoard();
  const states =
    "0A000 21000 22003 22021 22P02 22P05 23505 23514 2F002 42501 42703 54001 55000 57014 P0001 XX000 FB409";
  const titles = states.split(" ").flatMap((state) => [`Whole ${state}`, `Broken ${state}`]);
  const raw = titles.map((title) => JSON.stringify({ title, description: longEnough })).join("\n");
  const ended = await withErrors(organization, () => importFrom(key, raw));
  const half = titles.length / 2;
  expect(ended).toMatchObject({ state: "completed", created: half, failed: half });
  expect(ended.errors.map(({ line }) => line)).toEqual(Array.from({ length: half }, (_, n) => 2 * n + 2));
});

test.each(["25006", "40001", "40P01", "53100", "55P03", "57P01", "58030"])(
  "SQLSTATE %s, which is of no row, leaves an import to be continued",
  async (state) => {
    const { organization, key } = await newBoard();
    const raw = JSON.stringify({ title: `Broken ${state}`, description: longEnough });
    const id = await withErrors(organization, async () => {
      const { id } = await sendImport(key, raw);
      expect(await run(key, id)).toMatchObject({ state: "running", processed: 0 });
      return id;
    });
    expect(await runToEnd(key, id)).toMatchObject({ state: "completed", created: 1, failed: 0 });
  },
);

test("texts that Postgres cannot store, and rows within rows, do not stop an import", async () => {
  const { key } = await newBoard();
  const row = { title: "A title", details: longEnough };
  const raw = [
    { ...row, status: "a\0b" },
    { ...row, details: `\ud800 ${longEnough}` },
    { ...row, tags: ["a\0b"] },
    { ...row, title: "Whole" },
  ];
  const deep = `${'{"posts":['.repeat(60_000)}${"]}".repeat(60_000)}`;
  const lines = [deep, ...raw.map((one) => JSON.stringify(one))].join("\n");
  expect(await importFrom(key, lines, "?format=canny")).toMatchObject({ state: "completed", created: 2, failed: 3 });
});

test("rows with one id and other content are told, in any chunk, in a dry run too; a repetition is not", async () => {
  const { organization, key } = await newBoard();
  const other = { ...rows[0], title: "Other" };
  const comment = {
    kind: "comment",
    id: "c0",
    submission_id: "0",
    body: "Changed",
    author_email: "someone@job.example",
  };
  const tag = (name: string) => ({ kind: "tag", slug: "one", name });
  const more = [tag("One"), tag("One"), tag("Two"), rows[1], other, comment];
  const raw = [file, ...more.map((row) => JSON.stringify(row))].join("\n");
  const told = [
    { line: 72, field: "title" },
    ...[133, 135, 136].map((line) => ({ line, message: expect.stringContaining("of an earlier record") })),
  ];
  expect((await importFrom(key, raw, "?dry_run=true")).errors).toMatchObject(told);
  const done = await importFrom(key, raw);
  expect(done).toMatchObject({ state: "completed", created: 155, failed: 4 });
  expect(done.errors).toMatchObject(told);
  expect(await importFrom(key, raw)).toMatchObject({ created: 0, failed: 4 });
  expect(await contentOf(organization.id)).toHaveLength(128);
});

test("rows without id are one if title, author, time and text are the same", async () => {
  const { organization, key } = await newBoard();
  const row = { title: "Dark mode", author_email: "ann@job.example", created_at: "2024-05-06" };
  const raw = ["One", "Two", "One"]
    .map((n) => JSON.stringify({ ...row, description: `${n}. ${longEnough}` }))
    .join("\n");
  expect(await importFrom(key, raw)).toMatchObject({ created: 2, skipped: 1, failed: 0 });
  expect(await importFrom(key, raw)).toMatchObject({ created: 0, skipped: 3, failed: 0 });
  // As an import of the release before, which did not tell texts apart.
  await sql`update private.external_ids set external_id = ${formerId([row.title, row.author_email, "2024-05-06T00:00:00.000Z"])}
    where organization_id = ${organization.id} and submission_id = (select id from public.submissions
      where organization_id = ${organization.id} order by created_at limit 1)`;
  const comments = [{ body: "Yes", author_name: "Bob" }];
  const nested = JSON.stringify({ ...row, description: `Three. ${longEnough}`, comments });
  expect(await importFrom(key, nested)).toMatchObject({ created: 1, skipped: 1, failed: 0 });
});

const formerId = (parts: string[]) =>
  `sha256 ${createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 40)}`;

test("a chunk with a record that the database rejects is written and counted completely or not at all", async () => {
  const { organization, key } = await newBoard();
  const records = Array.from({ length: 40 }, (_, n) => ({
    ...{ id: `${n}`, title: `Record ${n}`, description: longEnough, author_email: `a${n}@x.example`, tags: [`t${n}`] },
    ...(n % 13 === 5 && { title: "Broken 22008" }),
  }));
  const raw = records.map((record) => JSON.stringify(record)).join("\n");
  expect(await withErrors(organization, () => importFrom(key, raw))).toMatchObject({
    created: 37,
    skipped: 0,
    failed: 3,
    processed: 40,
  });
  // A rejected record leaves nothing, not even its author or tag.
  const [left] =
    await sql`select (select count(*)::int from public.tags where organization_id = ${organization.id}) as tags,
    (select count(*)::int from public.profiles where organization_id = ${organization.id} and kind = 'email') as people`;
  expect(left).toEqual({ tags: 37, people: 37 });
  expect(await importFrom(key, raw)).toMatchObject({ created: 3, skipped: 37, failed: 0 });
});

test("a dry run of several chunks returns what the import then does, and stores nothing but its file", async () => {
  const { organization, key } = await newBoard();
  const later = rows.map(({ id }) => ({ kind: "vote", submission_id: id, author_email: "late@job.example" }));
  const raw = `${file}\n${later.map((row) => JSON.stringify(row)).join("\n")}`;
  const { id } = await sendImport(key, raw, "?dry_run=true");
  const tried = await endOf(key, id);
  expect(tried).toMatchObject({ dry_run: true, state: "completed" });
  expect(await contentOf(organization.id)).toEqual([]);
  expect(await stored(id)).toBeGreaterThan(0);
  const done = await importFrom(key, raw);
  // A row or vote repeated in a later chunk counts as created in a dry run, which rolls back the chunks
  // before.
  expect(tried.processed).toBe(done.processed);
  expect([tried.failed, tried.errors]).toEqual([done.failed, done.errors]);
});

test("a canceled import stops, keeps the rows it wrote and deletes its file", async () => {
  const { organization, key } = await newBoard();
  const id = await sendUnscheduled(key);
  expect(expectJson(await cancel(key, id), 200, importAnswer).data.state).toBe("canceled");
  expect(expectJson(await cancel(key, id), 200, importAnswer).data.state).toBe("canceled");
  expect(await stored(id)).toBe(0);
  expect(await run(key, id)).toMatchObject({ state: "canceled" });
  expect(await contentOf(organization.id)).toEqual([]);
  const done = await importFrom(key, file);
  expectError(await cancel(key, done.id), "CONFLICT");
});

test("revoking the key during an import ends the import", async () => {
  const { organization, key } = await newBoard();
  const id = await sendUnscheduled(key);
  const other = await newKey(organization, ["submissions:moderate"]);
  await sql`update private.api_keys set revoked_at = now() where id = (select key_id from private.imports where id = ${id})`;
  await sql`update private.imports set claimed_until = null where id = ${id}`;
  await sql`notify imports`;
  expect(await endOf(other, id)).toMatchObject({
    state: "failed",
    processed: 0,
    problem: expect.stringMatching(/^Whoever sent it can no longer import/),
  });
});

test("an admin's import continues in their name, and ends when they lose the role", async () => {
  const organization = await newOrganization();
  const [ada, key] = [
    await newUser("Ada", { organization, role: "admin" }),
    await newKey(organization, ["submissions:moderate"]),
  ];
  const { id } = await sendImport(ada, file, "", undefined, organization);
  expect(await endOf(key, id)).toMatchObject(figures);
  await sql`update private.imports set state = 'running', claimed_until = null where id = ${id}`;
  await sql`update public.memberships set role = 'member' where organization_id = ${organization.id}`;
  await sql`notify imports`;
  expect(await endOf(key, id)).toMatchObject({ state: "failed", problem: expect.stringMatching(/can no longer/) });
});

test("an upload in progress is not run", async () => {
  const board = await newBoard();
  const id = await sendUnscheduled(board.key);
  await sql`update private.imports set state = 'receiving' where id = ${id}`;
  expect(await run(board.key, id)).toMatchObject({ state: "receiving", processed: 0 });
});

test("the scheduled request requires its password", async () => {
  const call = (token: string) => send("POST", "/api/imports/run", { as: { token } });
  expect((await call("guessed")).status).toBe(401);
  expect((await call(stack.secret_key)).status).toBe(401);
});

test("an incomplete upload, and an import without progress for a week, are deleted", async () => {
  const { key } = await newBoard();
  const [sent, written] = [await sendUnscheduled(key), await sendUnscheduled(key)];
  await sql`update private.imports set state = 'receiving', updated_at = now() - interval '3 minutes' where id = ${sent}`;
  await sql`update private.imports set updated_at = now() - interval '8 days' where id = ${written}`;
  await sql`select private.end_idle_imports()`;
  expect(await show(key, sent)).toMatchObject({ state: "failed", problem: expect.stringMatching(/stopped arriving/) });
  expect(await show(key, written)).toMatchObject({
    state: "failed",
    problem: expect.stringMatching(/no progress for 7 days/),
  });
  expect([await stored(sent), await stored(written)]).toEqual([0, 0]);
});

test("an organization has at most five running imports, and those of disconnected clients end", async () => {
  const { organization, key } = await newBoard();
  const one = JSON.stringify(rows[0]);
  const headers = { "content-type": "application/x-ndjson" };
  const post = () => api("POST", "/api/admin/import", { as: key, raw: one, headers });
  const lock = sql`hashtextextended(${`import ${organization.id}`}, 0)`;
  const [second, ...others] = await sql.begin(async (transaction) => {
    // Nothing is written meanwhile.
    await transaction`select pg_advisory_xact_lock(${lock})`;
    const sent = await Promise.all(Array.from({ length: 8 }, post));
    const received = sent
      .filter(({ status }) => status === 202)
      .map((answer) => expectJson(answer, 202, importAnswer).data.id);
    expect(received).toHaveLength(5);
    for (const answer of sent.filter(({ status }) => status !== 202)) expectError(answer, "CONFLICT");
    const [first, second, ...others] = received as [string, string, ...string[]];
    expectJson(await cancel(key, first), 200, importAnswer);
    expectJson(await post(), 202, importAnswer);
    expectError(await post(), "CONFLICT");
    await sql`update private.imports set state = 'receiving', updated_at = now() - interval '3 minutes' where id = ${second}`;
    expectJson(await post(), 202, importAnswer);
    expect(await stored(second)).toBe(0);
    return [second, ...others];
  });
  // The client was merely slow: the rest of its upload arrives too late.
  for (const late of [`admin_add_import_file_part('${second}', 2, 'late')`, `admin_begin_import('${second}')`]) {
    const sent = sql.begin(async (transaction) => {
      await transaction`
        select set_config('feedback.organization_id', ${organization.id}, true),
          set_config('feedback.scopes', 'submissions:moderate', true), set_config('role', 'service_key', true)`;
      await transaction.unsafe(`select private.${late}`);
    });
    await expect(sent).rejects.toThrow("has ended");
  }
  for (const id of others) expect(await runToEnd(key, id)).toMatchObject({ state: "completed" });
});
