import { createServer } from "node:http";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import parse from "parse-prometheus-text-format";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import WebSocket from "ws";
import { Metrics, metrics } from "../../local/metrics.ts";
import { tableUnder } from "../docs/markdown.ts";
import { mailWorld } from "../mail/world.ts";
import { ownStack, type Person } from "../own-stack.ts";
import { functionsPid } from "../processes.ts";
import { raw } from "../raw.ts";
import { until } from "../until.ts";
import { ok, refuse, startReceiver } from "../webhooks/receivers.ts";

const own = await ownStack({
  parts: ["realtime", "webhook-dispatch", "mail-dispatch", "web"],
  metrics: { port: 0 },
  functionsEnvironment: { WEBHOOK_ALLOWED_HOSTS: "127.0.0.1" },
});
const metricsUrl = own.metricsUrl ?? "";

const scrape = async () => parse(await (await fetch(metricsUrl)).text());
/** The values of a metric by their labels, once `wanted` holds; a scrape is up to a second old. */
const valuesOf = (name: keyof typeof metrics, wanted: (values: Record<string, number>) => boolean = () => true) =>
  until(async () => {
    const family = (await scrape()).find((family) => family.name === name);
    const rows = (family?.metrics ?? []).map(({ labels = {}, value }): [string, number] => [
      Object.values(labels).join(" "),
      Number(value),
    ]);
    const values = Object.fromEntries(rows);
    if (wanted(values)) return values;
    await sleep(200);
    return undefined;
  });

const boundOf = (text: string) => (text === "+Inf" ? Number.POSITIVE_INFINITY : Number(text));

let author: Person;
beforeAll(async () => {
  await own.sql`update private.rate_limit_rules set max_requests = 2000000000`;
  author = await own.person("owner");
});

test("is served at /metrics of its own port, and not by the gateway", async () => {
  const { status, headers } = await fetch(metricsUrl);
  expect([status, headers.get("content-type")]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
  expect(new URL(metricsUrl).hostname).toBe("127.0.0.1");
  for (const path of ["/", "/metrics/", "/metrics?all", "/api/health"])
    expect((await fetch(new URL(path, metricsUrl))).status, path).toBe(404);
  expect((await fetch(metricsUrl, { method: "POST" })).status).toBe(404);
  // Of a page whose name was made to lead to this machine.
  for (const [host, status] of [
    ["evil.example", 403],
    ["localhost.evil.example:80", 403],
    ["localhost:80", 200],
  ])
    expect(
      await raw(`GET /metrics HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`, new URL(metricsUrl)),
    ).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  for (const base of [
    own.supabase_url,
    `${own.supabase_url}/api`,
    `${own.supabase_url}/functions/v1/webhook-dispatch`,
    own.base_url,
  ]) {
    const answer = await fetch(`${base}/metrics`);
    expect([base, answer.status >= 400, await answer.text()]).toEqual([
      base,
      true,
      expect.not.stringContaining("feedback_"),
    ]);
  }
});

test("counts attempts of webhooks and mails by outcome, and those that are due again", async () => {
  const receivers = await Promise.all([startReceiver(ok), startReceiver(refuse(500))]);
  const gone = await startReceiver(ok);
  await gone.close();
  onTestFinished(async () => void (await Promise.all(receivers.map((receiver) => receiver.close()))));
  for (const { url } of [...receivers, gone]) {
    const body = { url, events: ["submission.created"] };
    const made = await own.call("POST", `/api/organizations/${own.organization.id}/webhooks`, {
      token: author.token,
      body,
    });
    expect(made.status, made.text).toBe(201);
  }
  const world = mailWorld(own);
  await world.enable();
  const [reader] = (await world.confirmed()) as [Person];
  await world.changeStatus(await world.submit(reader), "planned");
  expect(await valuesOf("feedback_webhook_attempts_total", (values) => Object.keys(values).length === 3)).toEqual({
    delivered: 1,
    rejected: 1,
    no_response: 1,
  });
  expect(await valuesOf("feedback_mail_attempts_total", ({ sent = 0 }) => sent > 0)).toEqual({ sent: 1 });
  expect(await valuesOf("feedback_queue_length", ({ webhooks, mails }) => webhooks === 2 && mails === 0)).toEqual({
    webhooks: 2,
    mails: 0,
    imports: 0,
    events: 0,
  });
});

test("whatever a client sends, no label has it, and none is added", async () => {
  const series = async () => {
    await sleep(1_100);
    const text = await (await fetch(metricsUrl)).text();
    return text
      .split("\n")
      .filter((line) => /^feedback_http/.test(line))
      .map((line) => line.replace(/ \S+$/, ""));
  };
  const send = async (n: number) => {
    for (const path of [`/api/submissions/x${n}`, `/o/organization-${n}`, `/x"}\n${n}`, `/api${n}/x`])
      await fetch(new URL(encodeURI(path), own.supabase_url), { headers: { host: `h${n}.example` } }).then((answer) =>
        answer.text(),
      );
    for (const method of [`GET`, `PROPFIND`, "MERGE"])
      await raw(
        `${method} /m${n}?q=${n} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`,
        new URL(own.supabase_url),
      );
  };
  await send(0);
  const before = await series();
  for (let n = 1; n < 6; n++) await send(n);
  expect(await series()).toEqual(before);
  expect(before.length).toBeGreaterThan(10);
  expect(before.join()).not.toMatch(/organization|example|PROPFIND/);
});

test("counts websockets and connections to the database by login", async () => {
  const socket = new WebSocket(
    `${own.supabase_url.replace("http", "ws")}/realtime/v1/websocket?apikey=${own.publishable_key}&vsn=2.0.0`,
  );
  expect(await valuesOf("feedback_websockets", (values) => values[""] === 1)).toEqual({ "": 1 });
  socket.close();
  await valuesOf("feedback_websockets", (values) => values[""] === 0);
  expect(Object.keys(await valuesOf("feedback_database_connections"))).toEqual(
    expect.arrayContaining(["postgres", "feedback_api", "feedback_webhooks", "feedback_mail"]),
  );
});

test("counts restarts, and shows what runs", async () => {
  process.kill(await functionsPid(), "SIGKILL");
  expect(await valuesOf("feedback_restarts_total", ({ api = 0 }) => api > 0)).toEqual({ api: 1 });
  expect(await valuesOf("feedback_up", ({ api }) => api === 1)).toEqual({
    postgres: 1,
    api: 1,
    web: 1,
    realtime: 1,
    "webhook-dispatch": 1,
    "mail-dispatch": 1,
  });
});

test("all are in the format of Prometheus, with type and help", async () => {
  await own.call("GET", "/api/health", { base: own.supabase_url });
  await sleep(1_100);
  const found = await scrape();
  expect(Object.fromEntries(found.map(({ name, type, help }) => [name, [type.toLowerCase(), help]]))).toEqual(metrics);
  for (const { metrics: rows } of found) expect(rows.length).toBeGreaterThan(0);
  const durations = found.find(({ name }) => name === "feedback_http_request_duration_seconds");
  for (const { buckets = {} } of durations?.metrics ?? []) {
    const bounds = Object.entries(buckets).sort(([one], [other]) => boundOf(one) - boundOf(other));
    const counts = bounds.map(([, count]) => Number(count));
    expect(counts).toEqual([...counts].sort((a, b) => a - b));
    expect(counts).toHaveLength(12);
  }
});

test("docs/operations.md lists each with its type and meaning", () => {
  const rows = tableUnder("docs/operations.md", "Metrics").map(([name = "", type, , meaning]) => [
    name.replaceAll("`", ""),
    [type, meaning],
  ]);
  expect(Object.fromEntries(rows)).toEqual(metrics);
});

test("many scrapes at once read the state once, also of a Postgres that does not answer", async () => {
  const silent = createSocketServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  let reads = 0;
  const server = new Metrics().createServer({
    folder: own.folder,
    gateway: createServer(),
    databaseUrl: () => `postgresql://someone:secret@127.0.0.1:${(silent.address() as AddressInfo).port}/postgres`,
    up: () => ({ api: true }),
    websockets: () => {
      reads++;
      return 0;
    },
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const each of [server, silent]) each.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
  const texts = await Promise.all(Array.from({ length: 90 }, async () => (await fetch(url)).text()));
  expect(reads).toBe(1);
  expect(new Set(texts).size).toBe(1);
  expect(texts[0]).toContain('feedback_up{part="postgres"} 0');
  expect(texts[0]).not.toContain("feedback_queue_length");
});
