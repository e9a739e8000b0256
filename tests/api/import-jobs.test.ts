import { expect, test } from "vitest";
import { importAnswer } from "../../shared/imports.ts";
import { sql } from "../stack.ts";
import { until } from "../until.ts";
import { answered, api, type Caller, refused } from "./client.ts";
import { countMistakes, longEnough, newKey, newOrganization, newSubmission, newUser } from "./world.ts";

async function newBoard() {
  const organization = await newOrganization();
  return { organization, key: await newKey(organization, ["submissions:moderate"]) };
}

/** Good rows, with comments and votes in them, one that is refused and one that is there twice. */
const rows = Array.from({ length: 1300 }, (_, n) => ({
  id: `${n === 1299 ? 7 : n}`,
  title: n === 701 ? "A NUL \u0000 in it" : `Submission ${n}`,
  description: longEnough,
  author_email: `author-${n % 50}@job.example`,
  ...(n % 10 === 0 && {
    comments: [{ id: `c${n}`, body: "So it is", author_email: "someone@job.example" }],
    votes: [{ author_email: "voter@job.example" }],
  }),
}));
const file = rows.map((row) => JSON.stringify(row)).join("\n");

const send = (as: Caller, query: string, raw: string | string[] = file, type = "application/x-ndjson") =>
  api("POST", `/api/admin/import${query}`, { as, raw, headers: { "content-type": type } });
const run = async (as: Caller, id: string) =>
  answered(await api("POST", `/api/admin/imports/${id}/run`, { as }), 200, importAnswer).data;
const pieces = (id: string) => sql`select from private.import_pieces where import_id = ${id}`;

async function runToEnd(as: Caller, id: string) {
  for (;;) {
    const shown = await run(as, id);
    if (shown.state !== "running") return shown;
  }
}

const contentOf = async (id: string) => sql`
  select title, vote_count, comment_count from public.submissions where organization_id = ${id} order by title`;

test("an import that answers 202 has written nothing, and run step by step makes what one request makes", async () => {
  const [job, whole] = [await newBoard(), await newBoard()];
  const received = await send(job.key, "?async=true");
  const { id, rows: count, state } = answered(received, 202, importAnswer).data;
  expect({ count, state, location: received.headers.location }).toEqual({
    count: rows.length,
    state: "running",
    location: `imports/${id}`,
  });
  expect(await contentOf(job.organization.id)).toEqual([]);
  await sql`update private.imports set updated_at = now() - interval '1 hour' where id = ${id}`;
  expect((await api("GET", `/api/admin/imports/${id}`, { as: job.key })).body).toMatchObject({
    data: { state: "running", processed: 0, rows: rows.length },
  });

  const ended = await runToEnd(job.key, id);
  const expected = answered(await send(whole.key, ""), 201, importAnswer).data;
  const figures = ({ state, processed, created, skipped, failed, errors }: typeof ended) => ({
    ...{ state, processed, created, skipped, failed, errors },
  });
  expect(figures(ended)).toEqual(figures(expected));
  expect(ended).toMatchObject({ state: "completed", failed: 1, skipped: 1, errors: [{ line: 702 }] });
  expect(await contentOf(job.organization.id)).toEqual(await contentOf(whole.organization.id));
  expect(await pieces(id)).toHaveLength(0);
  expect(await run(job.key, id)).toMatchObject({ state: "completed", processed: ended.processed });
});

test("several who run one at once, and one who breaks off in between, write each row once and count it once", async () => {
  const { organization, key } = await newBoard();
  const { id } = answered(await send(key, "?async=true"), 202, importAnswer).data;
  // What a crash leaves: the first piece is written and its transaction ended, the rest is not.
  await sql`create function private.test_broken() returns trigger language plpgsql as
    $$ begin if old.n = 2 and old.import_id = ${sql.unsafe(`'${id}'`)} then raise 'gone'; end if; return old; end $$`;
  await sql`create trigger test_broken before delete on private.import_pieces for each row execute function private.test_broken()`;
  await until(async () => (await api("POST", `/api/admin/imports/${id}/run`, { as: key })).status === 500);
  await sql`drop trigger test_broken on private.import_pieces`;
  await sql`drop function private.test_broken()`;
  expect((await pieces(id)).length).toBeGreaterThan(0);

  await Promise.all(
    Array.from({ length: 4 }, () => api("POST", `/api/admin/imports/${id}/run`, { as: key })),
  );
  const ended = await runToEnd(key, id);
  // 1,300 rows, of which 130 bring a comment and a vote.
  expect(ended).toMatchObject({ state: "completed", processed: 1560, failed: 1, skipped: 1 });
  expect(await contentOf(organization.id)).toHaveLength(1298);
  expect(await countMistakes(organization)).toEqual([]);
});

test("a file that cannot be read on is refused whole", async () => {
  const { organization, key } = await newBoard();
  const broken = `id,title,description\n1,Good enough,${longEnough}\n2,"Never ends`;
  refused(await send(key, "?async=true", broken, "text/csv"), "VALIDATION_ERROR", "body");
  expect(await contentOf(organization.id)).toEqual([]);
  expect(
    await sql`select from private.import_pieces p join private.imports i on i.id = p.import_id where i.organization_id = ${organization.id}`,
  ).toEqual([]);
});

test("who may not import may not run, and what is still being sent is not run", async () => {
  const [board, other] = [await newBoard(), await newBoard()];
  const { id } = answered(await send(board.key, "?async=true"), 202, importAnswer).data;
  const path = `/api/admin/imports/${id}/run`;
  refused(await api("POST", path, { as: other.key }), "NOT_FOUND");
  refused(await api("POST", path, { as: await newUser(), on: board.organization }), "FORBIDDEN");
  refused(await api("POST", path), "UNAUTHORIZED");
  await sql`update private.imports set state = 'receiving' where id = ${id}`;
  refused(await api("POST", path, { as: board.key }), "CONFLICT");
  refused(await send(board.key, "?async=true&dry_run=true"), "VALIDATION_ERROR", "async");
});

test("rows nobody runs for a week are forgotten", async () => {
  const { organization, key } = await newBoard();
  const { id } = answered(await send(key, "?async=true"), 202, importAnswer).data;
  await sql`update private.imports set updated_at = now() - interval '8 days' where id = ${id}`;
  await sql`select private.end_idle_imports()`;
  expect(await run(key, id)).toMatchObject({
    state: "failed",
    processed: 0,
    problem: expect.stringMatching(/week/),
  });
  expect(await pieces(id)).toHaveLength(0);
  expect(await newSubmission(organization, await newUser())).toBeTruthy();
});

test("an organization has five jobs at most that are not yet written, and those whose sender went away are ended", async () => {
  const { organization, key } = await newBoard();
  const one = JSON.stringify(rows[0]);
  const received = await Promise.all(Array.from({ length: 8 }, () => send(key, "?async=true", one)));
  const jobs = received
    .filter(({ status }) => status === 202)
    .map((sent) => answered(sent, 202, importAnswer).data.id);
  expect(jobs).toHaveLength(5);
  for (const sent of received.filter(({ status }) => status !== 202)) refused(sent, "CONFLICT");
  const [first, second] = jobs as [string, string];
  await runToEnd(key, first);
  answered(await send(key, "?async=true", one), 202, importAnswer);
  await sql`update private.imports set state = 'receiving', updated_at = now() - interval '3 minutes' where id = ${second}`;
  answered(await send(key, "?async=true", one), 202, importAnswer);
  expect(await pieces(second)).toHaveLength(0);
  // The sender was only slow: what it sends now is too late.
  for (const late of [
    `admin_receive_import('${second}', 2, '[]', '{}')`,
    `admin_begin_import('${second}')`,
  ]) {
    const sent = sql.begin(async (transaction) => {
      await transaction`
        select set_config('feedback.organization_id', ${organization.id}, true),
          set_config('feedback.scopes', 'submissions:moderate', true), set_config('role', 'service_key', true)`;
      await transaction.unsafe(`select private.${late}`);
    });
    await expect(sent).rejects.toThrow("has ended");
  }
});
