import { request } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { ownStack, type Person } from "../own-stack.ts";
import { expectConsistent, expectNoLeak, expectUnavailable, recovered } from "./storm.ts";

const own = await ownStack();
let people: Person[];
let submissionId: string;

beforeAll(async () => {
  await own.sql`update private.rate_limit_rules set max_requests = 2000000000`;
  people = await own.people(60);
  submissionId = await own.submission(people[0] as Person);
});

/** Runs while another session holds a lock. */
async function holding<Value>(lock: string, use: () => Promise<Value>): Promise<Value> {
  let release = () => {};
  let held = () => {};
  const isHeld = new Promise<void>((resolve) => {
    held = resolve;
  });
  const lockHolder = own.sql.begin(async (transaction) => {
    await transaction.unsafe(lock);
    held();
    await new Promise<void>((resolve) => {
      release = resolve;
    });
  });
  await isHeld;
  try {
    return await use();
  } finally {
    release();
    await lockHolder;
  }
}

async function timed<Value>(work: Promise<Value>): Promise<{ value: Value; ms: number }> {
  const startedAt = performance.now();
  return { value: await work, ms: performance.now() - startedAt };
}

const vote = ({ token }: Person, id = submissionId) => own.call("POST", `/api/submissions/${id}/vote`, { token });

describe("a lock held by another session", () => {
  test("on a row: waiting requests get 503 within ten seconds, also with many queued; others are served", async () => {
    await holding(`select from public.submissions where id = '${submissionId}' for update`, async () => {
      const pending = Promise.all(people.slice(1, 60).map((person) => timed(vote(person))));
      await sleep(100);
      const { value: read, ms: untilRead } = await timed(
        own.call("GET", `/api/submissions/${submissionId}`).catch(() => undefined),
      );
      // Every connection waits for the lock: a read is served in between, or gets a 503.
      expect([200, 503]).toContain(read?.status);
      expect(untilRead).toBeLessThan(10_500);
      for (const { value, ms } of await pending) {
        expectUnavailable(value);
        expect(ms).toBeLessThan(10_500);
      }
    });
    const repeated = await Promise.all(people.slice(1, 60).map((person) => vote(person)));
    expect(new Set(repeated.map(({ status }) => status))).toEqual(new Set([201]));
    await expectConsistent(own);
    await expectNoLeak(own);
  });

  test("on a row needed by one request: all others are served", async () => {
    await holding(`select from public.submissions where id = '${submissionId}' for update`, async () => {
      const person = people[0] as Person;
      const patch = own.call("PATCH", `/api/submissions/${submissionId}`, {
        token: person.token,
        body: { title: "Another title" },
      });
      await sleep(100);
      const { value, ms } = await timed(own.call("GET", `/api/submissions/${submissionId}`));
      expect([value.status, ms < 5_000]).toEqual([200, true]);
      expectUnavailable(await patch);
    });
  });

  test.each(["public.submissions", "private.rate_counters"])(
    "on the table %s: 503, and recovery when it is released",
    async (table) => {
      await holding(`lock table ${table} in access exclusive mode`, async () => {
        const { value, ms } = await timed(own.call("GET", "/api/submissions"));
        expectUnavailable(value);
        expect(ms).toBeLessThan(10_000);
      });
      expect((await own.call("GET", "/api/submissions")).status).toBe(200);
    },
  );
});

test("the cancel of an import waits for the chunk that is being written", async () => {
  const [admin] = (await own.people(1, "admin")) as [Person];
  const [started] = await own.sql<{ id: string }[]>`
    insert into private.imports (organization_id, format, source, is_dry_run, makes_missing)
    values (${own.organization.id}, 'feedback', 'feedback', false, false) returning id`;
  const lock = `select from private.imports where id = '${started?.id}' for no key update`;
  const { answer } = await holding(lock, async () => {
    const waiting = own.call("DELETE", `/api/admin/imports/${started?.id}`, { token: admin.token });
    await sleep(1_000);
    return { answer: waiting };
  });
  expect((await answer).status).toBe(200);
});

test("a statement that never ends is canceled: 503 within ten seconds, and no changes", async () => {
  // Voters of the other submission already follow it.
  const id = await own.submission(people[0] as Person);
  await own.sql.unsafe(`
    create function private.test_hang() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return new; end $$;
    create trigger test_hang before insert on public.follows for each row execute function private.test_hang()`);
  try {
    const path = `/api/submissions/${id}/follow`;
    const answers = await Promise.all(
      people.slice(20, 40).map(({ token }) => timed(own.call("POST", path, { token }))),
    );
    for (const { value, ms } of answers) {
      expectUnavailable(value);
      expect(ms).toBeLessThan(10_500);
    }
  } finally {
    await own.sql.unsafe("drop trigger test_hang on public.follows; drop function private.test_hang()");
  }
  await recovered(own);
  await expectNoLeak(own);
});

test("every session of the functions has its own timeouts, whatever the database's defaults", async () => {
  const [role] = await own.sql<
    { settings: string[] }[]
  >`select rolconfig as settings from pg_roles where rolname = 'feedback_api'`;
  const settings = Object.fromEntries((role?.settings ?? []).map((setting) => setting.split("=")));
  for (const name of ["statement_timeout", "idle_in_transaction_session_timeout"]) {
    expect(settings[name], name).toMatch(/^([1-9]|1[0-5])s$/);
  }
  expect(settings.lock_timeout).toBe("200ms");
  const others = await own.sql<{ role: string; settings: string[] | null }[]>`
    select rolname as role, rolconfig as settings from pg_roles where rolname in ('anon', 'authenticated')`;
  for (const { role: name, settings: list } of others) expect(list?.join(), name).toMatch(/statement_timeout=/);
});

describe.each(["base_url", "supabase_url"] as const)("clients that misbehave at %s", (base) => {
  const target = () => new URL(own[base]);

  test("1,000 aborted requests leave no connection in use and no partial write", async () => {
    const { hostname, port } = target();
    const abort = (n: number) =>
      new Promise<void>((resolve) => {
        const body = JSON.stringify({ body: "Given up" });
        const outgoing = request({
          hostname,
          port,
          method: "POST",
          path: `/api/submissions/${submissionId}/comments`,
          headers: {
            authorization: `Bearer ${people[n % 60]?.token}`,
            "content-type": "application/json",
            "content-length": Buffer.byteLength(body),
          },
        });
        outgoing.on("error", () => resolve());
        outgoing.on("response", (response) =>
          response
            .resume()
            .on("end", () => resolve())
            .on("error", () => resolve()),
        );
        // One in three never sends its whole body, the others do not wait for the response.
        if (n % 3 === 0) outgoing.write(body.slice(0, 5));
        else outgoing.end(body);
        setTimeout(() => {
          outgoing.destroy();
          resolve();
        }, n % 7);
      });
    for (let batch = 0; batch < 10; batch++)
      await Promise.all(Array.from({ length: 100 }, (_, n) => abort(batch * 100 + n)));
    expect(await recovered(own)).toBeLessThan(5_000);
    await expectNoLeak(own);
    await expectConsistent(own);
  });
});

test("slow bodies are cut off after ten seconds at both listeners, and do not delay other requests", async () => {
  const slow = [own.base_url, own.supabase_url].flatMap((base) =>
    people.map(({ token }) => slowUpload(new URL(base), token)),
  );
  await sleep(500);
  for (const base of [own.base_url, own.supabase_url]) {
    const { value, ms } = await timed(own.call("GET", "/api/submissions", { base }));
    expect([value.status, ms < 5_000]).toEqual([200, true]);
  }
  await Promise.race([Promise.all(slow.map(({ answered }) => answered)), sleep(25_000)]);
  for (const { heard: received } of slow) {
    expect(received()).toMatch(/^HTTP\/1\.1 400 /);
    expect(received()).toMatch(/did not arrive within 10 seconds/);
  }
  await expectNoLeak(own);
});

/** A comment that arrives one space at a time. */
function slowUpload({ hostname, port }: URL, token: string): { answered: Promise<void>; heard(): string } {
  const socket = connect(Number(port), hostname);
  let received = "";
  const answered = new Promise<void>((resolve) => {
    socket.on("data", (chunk) => {
      received += chunk.toString();
      if (received.includes('"error"')) resolve();
    });
    socket.on("close", () => resolve());
    socket.on("error", () => resolve());
  });
  const head = [
    `POST /api/submissions/${submissionId}/comments HTTP/1.1`,
    `Host: ${hostname}:${port}`,
    "Content-Type: application/json",
    `Authorization: Bearer ${token}`,
    "Content-Length: 1000",
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n{`);
  const drip = setInterval(() => socket.write(" "), 500);
  const end = () => {
    clearInterval(drip);
    socket.destroy();
  };
  return { answered: answered.finally(end), heard: () => received };
}
