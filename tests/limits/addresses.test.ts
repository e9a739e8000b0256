import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type OwnStack, startOwnStack } from "../own-stack.ts";

const list = "/api/submissions?limit=1";

/** Every header in which a client might send an address, each with an unused address. */
function forged(): Record<string, string> {
  const address = () => `198.51.${randomBytes(1)[0]}.${randomBytes(1)[0]}`;
  const guess = `x-address-${randomBytes(8).toString("hex")}`;
  return {
    "x-forwarded-for": `${address()}, ${address()}`,
    forwarded: `for=${address()};proto=https`,
    "x-real-ip": address(),
    "cf-connecting-ip": address(),
    "true-client-ip": address(),
    "x-client-ip": address(),
    "fly-client-ip": address(),
    "x-cluster-client-ip": address(),
    "x-original-forwarded-for": address(),
    "x-envoy-external-address": address(),
    "x-address": address(),
    "address-header": address(),
    [guess]: address(),
    via: `1.1 ${address()}`,
  };
}

describe("behind the embedded gateway and at the functions' own listener", () => {
  let own: OwnStack;
  beforeAll(async () => {
    own = await startOwnStack();
  });
  afterAll(() => own?.remove());
  beforeEach(() => own.sql`delete from private.rate_counters`);

  const asks = (count: number, call: () => Parameters<OwnStack["call"]>[2]) =>
    Promise.all(Array.from({ length: count }, () => own.call("GET", list, call())));
  const passed = (answers: { status: number }[]) => answers.filter(({ status }) => status === 200).length;

  test.each(["base_url", "supabase_url"] as const)("at %s a client cannot choose its address", async (base) => {
    const answers = await asks(40, () => ({ base: own[base], headers: forged() }));
    expect(passed(answers)).toBe(30);
    expect(await own.sql`select from private.rate_counters`).toHaveLength(1);
  });

  test("headers that a proxy must remove, or a repeated header, do not change it either", async () => {
    const answers = await asks(40, () => {
      const headers = forged();
      return { base: own.supabase_url, headers: { ...headers, connection: Object.keys(headers).join(", ") } };
    });
    expect(passed(answers)).toBe(30);
  });

  test("both listeners share one bucket", async () => {
    await asks(15, () => ({ base: own.base_url }));
    await asks(15, () => ({ base: own.supabase_url }));
    expect((await own.call("GET", list)).status).toBe(429);
    expect((await own.call("GET", list, { base: own.supabase_url })).status).toBe(429);
  });

  // Only Linux accepts connections from all of 127/8.
  test.runIf(process.platform === "linux")("each address has its own bucket, at both listeners", async () => {
    await asks(31, () => ({ from: "127.0.0.77" }));
    expect((await own.call("GET", list, { from: "127.0.0.77", base: own.supabase_url })).status).toBe(429);
    expect((await own.call("GET", list, { from: "127.0.0.78" })).status).toBe(200);
    expect((await own.call("GET", list, { from: "127.0.0.79", base: own.supabase_url })).status).toBe(200);
  });

  test("an address is stored nowhere in plain text, including forged ones", async () => {
    await asks(35, () => ({ headers: forged() }));
    await own.call("GET", list, { base: own.supabase_url, token: "nonsense" });
    const counters = await own.sql<{ subject: string }[]>`select subject from private.rate_counters`;
    expect(counters.length).toBeGreaterThan(0);
    for (const { subject } of counters) expect(subject).toMatch(/^[0-9a-f]{32}$/);
    for (const log of ["functions.log", "postgres.log"]) {
      const text = await readFile(join(own.folder, log), "utf8");
      expect(text, log).not.toMatch(/198\.51\.\d+\.\d+/);
      expect(text.replace(/listening on .*/g, ""), log).not.toMatch(/127\.0\.0\.\d+/);
    }
    const columns = await own.sql<{ table: string; column: string }[]>`
      select table_schema || '.' || table_name as table, column_name as column from information_schema.columns
      where table_schema in ('public', 'private') and data_type in ('text', 'jsonb', 'json', 'inet', 'cidr')`;
    expect(columns.length).toBeGreaterThan(20);
    for (const { table, column } of columns) {
      const [schema = "", name = ""] = table.split(".");
      const found = await own.sql`
        select 1 from ${own.sql(schema)}.${own.sql(name)} t where ${own.sql(column)}::text ~ '(198\\.51|127\\.0\\.0)\\.' limit 1`;
      expect(found, `${table}.${column}`).toHaveLength(0);
    }
  });

  test("the hash is keyed: counters do not allow guessing addresses", async () => {
    await own.call("GET", list);
    const [counter] = await own.sql<{ subject: string }[]>`select subject from private.rate_counters`;
    const [plain] = await own.sql<{ hash: string }[]>`select left(encode(sha256('127.0.0.1'), 'hex'), 32) as hash`;
    expect(counter?.subject).not.toBe(plain?.hash);
  });
});

describe("behind a trusted proxy header", () => {
  let own: OwnStack;
  beforeAll(async () => {
    own = await startOwnStack({ functionsEnvironment: { ADDRESS_HEADER: "X-Test-Address" } });
    await own.sql`update private.rate_limit_rules set max_requests = 1 where name = 'level_public'`;
  });
  afterAll(() => own?.remove());
  beforeEach(() => own.sql`delete from private.rate_counters`);

  const from = async (address: string) =>
    (await own.call("GET", list, { headers: { "x-test-address": address } })).status;

  test.each([
    ["2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", "another host of the same /64"],
    ["2001:db8:1:2::1", "2001:0DB8:0001:0002:0000:0000:0000:0001", "the same address written out"],
    ["2001:db8::1", "2001:db8:0:0:8000::", "the same /64 in zeros"],
    ["2001:db8:0:1::", "2001:db8:0:1:0:0:0:9", "zeros in the middle"],
    ["::1", "0:0:0:0:0:0:0:1", "the loopback"],
    ["192.0.2.7", "::ffff:192.0.2.7", "IPv4 in IPv6"],
    ["192.0.2.7", "::FFFF:192.0.2.7", "IPv4 in IPv6, in capitals"],
    ["192.0.2.7", " 192.0.2.7 ", "white space"],
  ])("%s and %s share a bucket: %s", async (one, other) => {
    expect([await from(one), await from(other)]).toEqual([200, 429]);
  });

  test.each([
    ["2001:db8:1:2::1", "2001:db8:1:3::1"],
    ["2001:db8:1:2::1", "2001:db8:2:1::1"],
    ["2001:db8::1", "2001:db8:0:1::1"],
    ["1::", "::1"],
    ["192.0.2.7", "192.0.2.8"],
    ["::ffff:192.0.2.7", "::ffff:192.0.2.8"],
  ])("%s and %s have separate buckets", async (one, other) => {
    expect([await from(one), await from(other)]).toEqual([200, 200]);
  });

  test("the last entry of a list counts, which the proxy wrote; earlier ones are from the client", async () => {
    expect(await from("198.51.100.1, 192.0.2.7")).toBe(200);
    expect(await from("198.51.100.2, 192.0.2.7")).toBe(429);
    expect(await from("198.51.100.1, 192.0.2.8")).toBe(200);
  });

  test("without the header the socket's address is used", async () => {
    expect((await own.call("GET", list)).status).toBe(200);
    expect((await own.call("GET", list, { headers: { "x-forwarded-for": "192.0.2.9" } })).status).toBe(429);
  });
});

describe("without a known address", () => {
  let own: OwnStack;
  beforeAll(async () => {
    own = await startOwnStack({ functionsEnvironment: { ADDRESS_HEADER: "", ADDRESS_FROM_SOCKET: "" } });
  });
  afterAll(() => own?.remove());

  test("anonymous callers do not share one bucket, so that one caller cannot block all others", async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, () => own.call("GET", list)));
    expect(answers.filter(({ status }) => status === 200).length).toBe(40);
  });

  test("a warning is logged at start", async () => {
    expect(await own.functionsLog()).toMatch(/ADDRESS_HEADER/);
  });
});
