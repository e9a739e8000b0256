import { createServer, type ServerResponse } from "node:http";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { defaultLimits, type GatewayLimits } from "../../local/gateway/limits.ts";
import { createGateway } from "../../local/gateway/server.ts";
import { listen } from "../../local/processes/ports.ts";
import { type OwnStack, startOwnStack } from "../own-stack.ts";
import { raw } from "../raw.ts";
import { accessToken, stack, withoutData } from "../stack.ts";
import { until } from "../until.ts";

// How many requests of one caller auth and the data API process at once, and how many wait. The listener behind the
// gateway answers only when the test tells it to.

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function held(limits: Partial<GatewayLimits> = {}) {
  const running = new Set<ServerResponse>();
  const upstream = createServer((incoming, response) => {
    incoming.resume();
    running.add(response);
  });
  await listen(upstream, 0, "PORT");
  const port = () => (upstream.address() as { port: number }).port;
  const gateway = createGateway({
    addressHeader: "x-address-of-a-test",
    ...withoutData,
    authPort: port,
    dataApi: () => ({ listener: () => ({ host: "127.0.0.1", port: port() }), begin: () => () => undefined }),
    functionPort: () => undefined,
    limits,
  });
  await listen(gateway, 0, "PORT");
  closing.push(() => {
    for (const server of [gateway, upstream]) {
      server.close();
      server.closeAllConnections();
    }
  });
  const statuses: string[] = [];
  const to = (gateway.address() as { port: number }).port;
  return {
    running,
    /** The statuses of the answers so far. */
    statuses,
    ask: (path: string, from: string, token?: string) => {
      const authorization = token ? `Authorization: Bearer ${token}\r\n` : "";
      raw(
        `GET ${path} HTTP/1.1\r\nHost: a\r\napikey: ${stack.publishable_key}\r\n${authorization}Connection: close\r\n\r\n`,
        { port: to, from, timeoutMs: 60_000 },
      ).then((answer) => statuses.push(answer.slice(9, 12)));
    },
    finish() {
      for (const response of running) response.end("[]");
      running.clear();
    },
  };
}

const { rest: ofRest, auth: ofAuth } = defaultLimits;
const rest = "/rest/v1/submissions?select=id";
const auth = "/auth/v1/health";
const times = (count: number, work: (index: number) => void) => {
  for (let index = 0; index < count; index++) work(index);
};
const tokens = Array.from({ length: 2 }, () => accessToken({ sub: crypto.randomUUID() }));

test.each([
  ["four requests of an address to the data API", rest, 4, () => "127.0.20.1"],
  ["four requests of a user to the data API, from many addresses", rest, 4, (n: number) => `127.0.20.${n + 2}`],
  ["48 requests of an address to auth", auth, 48, () => "127.0.20.1"],
  ["48 requests of a user to auth, from many addresses", auth, 48, (n: number) => `127.0.20.${n + 2}`],
] as const)("%s run concurrently; the others wait, and those of others do not", async (what, path, most, from) => {
  const { ask, running, statuses, finish } = await held();
  const [token, other] = await Promise.all(tokens);
  const ofUser = what.includes("user") ? token : undefined;
  times(most + 20, (index) => ask(path, from(index), ofUser));
  await until(() => running.size >= most);
  ask(path, "127.0.20.200", other);
  await until(() => running.size > most);
  expect(running.size).toBe(most + 1);
  expect(statuses).toEqual([]);
  const finishing = setInterval(finish, 10);
  await until(() => statuses.length === most + 21).finally(() => clearInterval(finishing));
  expect(new Set(statuses)).toEqual(new Set(["200"]));
});

test.each([
  ["the data API", rest, 4, 500],
  ["auth", auth, 48, 100],
] as const)(
  "in the line of %s only so many of a caller wait; the next is refused at once",
  async (_of, path, most, waiting) => {
    const { ask, running, statuses, finish } = await held({
      rest: { ...ofRest, waitMs: 60_000 },
      auth: { ...ofAuth, waitMs: 60_000 },
    });
    times(most + waiting + 10, () => ask(path, "127.0.20.1"));
    await until(() => statuses.length === 10);
    expect(new Set(statuses)).toEqual(new Set(["429"]));
    expect(running.size).toBe(most);
    ask(path, "127.0.20.2");
    await until(() => running.size === most + 1);
    const finishing = setInterval(finish, 10);
    await until(() => statuses.length === most + waiting + 11).finally(() => clearInterval(finishing));
    expect(statuses.filter((status) => status === "200")).toHaveLength(most + waiting + 1);
  },
);

test("who waits too long is refused", async () => {
  const { ask, running, statuses } = await held({ rest: { ...ofRest, waitMs: 200 } });
  times(6, () => ask(rest, "127.0.20.1"));
  await until(() => statuses.length === 2);
  expect([statuses, running.size]).toEqual([["429", "429"], 4]);
});

test("the slow statements of a user count from all addresses together, and not for others", async () => {
  const { ask, running, statuses, finish } = await held({ slowMs: 20, slowWorkMs: 100 });
  const [token, other] = await Promise.all(tokens);
  times(4, (index) => ask(rest, `127.0.20.${index + 1}`, token));
  await until(() => running.size === 4);
  await new Promise((resolve) => setTimeout(resolve, 50));
  finish();
  await until(() => statuses.length === 4);
  ask(rest, "127.0.20.100", token);
  await until(() => statuses.length === 5);
  expect(statuses.at(-1)).toBe("429");
  ask(rest, "127.0.20.101", other);
  ask(rest, "127.0.20.102");
  await until(() => running.size === 2);
});

describe("the requests that wait for a connection of the functions to the database", () => {
  let own: OwnStack;
  beforeAll(async () => {
    const functionsEnvironment = { DATABASE_CONNECTIONS: "4", DATABASE_WAIT_SECONDS: "60" };
    own = await startOwnStack({ functionsEnvironment });
    await own.sql`update private.rate_limit_rules set max_requests = 2000000000`;
  });
  afterAll(() => own?.remove());

  test("are 500 of a caller and 2,000 in all; the next are refused at once", async () => {
    const statuses: number[] = [];
    const ask = (from: string) =>
      own.call("GET", "/api/submissions?limit=1", { from }).then(({ status }) => statuses.push(status));
    // These requests open all four connections.
    await Promise.all(Array.from({ length: 40 }, (_, index) => ask(`127.0.21.${(index % 8) + 1}`)));
    statuses.splice(0);
    const database = postgres(own.superuserUrl, { max: 1 });
    const backends = await database<{ pid: number }[]>`
      select pid from pg_stat_activity where usename = 'feedback_api'`;
    expect(backends).toHaveLength(4);
    // Stopped backends do not answer until they continue, like a network that has failed.
    for (const { pid } of backends) process.kill(pid, "SIGSTOP");
    try {
      for (let n = 1; n <= 4; n++) for (let k = 0; k < 501; k++) void ask(`127.0.21.${n}`);
      void ask("127.0.21.1");
      await until(() => statuses.length > 0);
      expect(statuses).toEqual([503]);
      void ask("127.0.21.5");
      await until(() => statuses.length > 1);
      expect(statuses).toEqual([503, 503]);
    } finally {
      for (const { pid } of backends) process.kill(pid, "SIGCONT");
      await database.end();
    }
    await until(() => statuses.length === 4 * 501 + 2);
    expect(statuses.filter((status) => status === 200)).toHaveLength(4 * 501);
  });
});
