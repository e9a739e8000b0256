import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { version } from "../shared/version.ts";
import { connect, type Sql } from "./postgres/database.ts";
import type { Component } from "./processes/logs.ts";
import { freeBytesOf } from "./processes/machine.ts";

/** Type and help of every metric; docs/operations.md lists them. */
export const metrics = {
  feedback_build_info: ["gauge", "The release that runs."],
  feedback_start_time_seconds: ["gauge", "Start of the launcher, in seconds since 1970."],
  feedback_up: ["gauge", "Whether a part runs."],
  feedback_restarts_total: ["counter", "Restarts of a part that ended or hung."],
  feedback_connections: ["gauge", "Open connections to the gateway, without websockets."],
  feedback_websockets: ["gauge", "Open websockets."],
  feedback_http_requests_total: ["counter", "Requests by kind of path, method and class of status."],
  feedback_http_request_duration_seconds: ["histogram", "Time until a response was sent, without event streams."],
  feedback_queue_length: ["gauge", "Waiting entries; at most 10000 are counted."],
  feedback_webhook_attempts_total: ["counter", "Attempts to deliver webhooks by outcome."],
  feedback_mail_attempts_total: ["counter", "Attempts to send mails by outcome."],
  feedback_database_connections: ["gauge", "Connections to Postgres by login."],
  feedback_disk_free_bytes: ["gauge", "Free bytes of the disk of the data folder."],
} as const;

type Metric = keyof typeof metrics;
type Labels = Record<string, string>;

/** What is read at a scrape. */
export interface State {
  folder: string;
  gateway: Server;
  /** Null before Postgres runs. */
  databaseUrl(): string | null;
  up(): Partial<Record<Component, boolean>>;
  websockets(): number;
}

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const routes =
  /^\/(?:functions\/v1\/)?(api\/mcp|api|auth|rest|realtime|storage|assets|webhook-dispatch|mail-dispatch|auth-mail)(?:\/|$)/;
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const loopback = /^(?:127\.|::1$|::ffff:127\.)/;
const localHost = /^(?:localhost|127\.[\d.]+|\[::1\])(?::\d+)?$/i;
const cachedMs = 1_000;
const maxQueryMs = 1_000;

const counted = (rows: string) => `(select count(*)::int from (select ${rows} limit 10000) waiting)`;
const queueQuery = `select
  ${counted("from private.webhook_deliveries where status in ('pending', 'sending')")} as webhooks,
  ${counted("from private.mails where status in ('pending', 'sending')")} as mails,
  ${counted("from private.imports where state in ('receiving', 'running')")} as imports,
  ${counted("from private.webhook_cursor c, private.outbox o where (o.xid, o.id) > (c.xid, c.id)")} as events,
  (select json_object_agg(usename, connections) from (
    select usename, count(*) as connections from pg_stat_activity where usename is not null group by usename) a) as logins`;

/** Counts what happens, and serves it with the current state in Prometheus's text format, version 0.0.4. */
export class Metrics {
  readonly #series = new Map<Metric, Map<string, number>>();
  #sql: Sql | undefined;
  #cached: { at: number; text: Promise<string> } | undefined;

  /** Starts at zero, or continues; values of labels must be few. */
  add(metric: Metric, labels: Labels, by = 1, suffix = ""): void {
    const key = suffix + written(labels);
    const series = this.#of(metric);
    series.set(key, (series.get(key) ?? 0) + by);
  }

  set(metric: Metric, labels: Labels, value: number): void {
    this.#of(metric).set(written(labels), value);
  }

  /** Counters of a dispatcher's process, which sends webhooks or mails. */
  setOutcomes(sent: string, outcomes: Record<string, number>): void {
    const metric = sent === "webhooks" ? "feedback_webhook_attempts_total" : "feedback_mail_attempts_total";
    for (const [outcome, count] of Object.entries(outcomes)) this.set(metric, { outcome }, count);
  }

  #of(metric: Metric): Map<string, number> {
    const known = this.#series.get(metric) ?? new Map<string, number>();
    this.#series.set(metric, known);
    return known;
  }

  observe(incoming: IncomingMessage, response: ServerResponse): void {
    const startedAt = performance.now();
    // One more than all others of a streamed response.
    response.setMaxListeners(20);
    response.once("close", () => {
      // No label has a path or anything else that a client chooses.
      const route = routes.exec((incoming.url ?? "").split("?", 1)[0] ?? "")?.[1] ?? "pages";
      const method = methods.find((known) => known === incoming.method) ?? "other";
      const status = response.writableFinished ? `${Math.floor(response.statusCode / 100)}xx` : "aborted";
      this.add("feedback_http_requests_total", { route, method, status });
      if (String(response.getHeader("content-type")).startsWith("text/event-stream")) return;
      const seconds = (performance.now() - startedAt) / 1000;
      const add = (suffix: string, labels: Labels, by?: number) =>
        this.add("feedback_http_request_duration_seconds", { route, ...labels }, by, suffix);
      for (const bound of buckets) add("_bucket", { le: String(bound) }, seconds <= bound ? 1 : 0);
      add("_bucket", { le: "+Inf" });
      add("_sum", {}, seconds);
      add("_count", {});
    });
  }

  /** A server of /metrics, and nothing else. */
  createServer(state: State): Server {
    const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, (request, response) => {
      const { localAddress = "" } = request.socket;
      // A page that resolves its own name to this machine has that name.
      if (loopback.test(localAddress) && !localHost.test(request.headers.host ?? ""))
        return void response.writeHead(403).end();
      if (request.url !== "/metrics" || request.method !== "GET") return void response.writeHead(404).end();
      this.#text(state).then(
        (text) => response.writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" }).end(text),
        () => response.writeHead(500).end(),
      );
    });
    server.maxConnections = 100;
    server.once("close", () => this.#disconnect());
    return server;
  }

  /** However often it is asked for, the state is read once a second. */
  #text(state: State): Promise<string> {
    if (!this.#cached || performance.now() - this.#cached.at > cachedMs)
      this.#cached = { at: performance.now(), text: this.#read(state).then(() => this.#write()) };
    return this.#cached.text;
  }

  async #read(state: State): Promise<void> {
    const [row, free, connections] = await Promise.all([
      this.#query(state.databaseUrl()),
      freeBytesOf(state.folder).catch(() => null),
      new Promise<number>((resolve) => state.gateway.getConnections((_, count) => resolve(count ?? 0))),
    ]);
    for (const metric of ["feedback_queue_length", "feedback_database_connections"] as const) this.#of(metric).clear();
    const { logins = {}, ...queues } = row ?? {};
    for (const [queue, length] of Object.entries(queues)) this.set("feedback_queue_length", { queue }, Number(length));
    for (const [login, count] of Object.entries(logins ?? {}))
      this.set("feedback_database_connections", { login }, Number(count));
    for (const [part, up] of Object.entries({ ...state.up(), postgres: row !== null }))
      this.set("feedback_up", { part }, Number(up));
    if (free !== null) this.set("feedback_disk_free_bytes", {}, free);
    this.set("feedback_connections", {}, connections);
    this.set("feedback_websockets", {}, state.websockets());
    this.set("feedback_build_info", { version }, 1);
    this.set("feedback_start_time_seconds", {}, Math.round(performance.timeOrigin / 1000));
  }

  /** Null if Postgres does not answer. */
  async #query(url: string | null): Promise<Record<string, object> | null> {
    if (url === null) return null;
    // The partial indexes of the queues, however many rows are finished.
    this.#sql ??= connect(url, 1, { enable_seqscan: false, statement_timeout: maxQueryMs });
    const late = sleep(2 * maxQueryMs, [], { ref: false });
    const rows = await Promise.race([this.#sql.unsafe(queueQuery, [], { prepare: true }), late]).catch(() => []);
    if (rows.length === 0) this.#disconnect();
    return rows[0] ?? null;
  }

  #disconnect(): void {
    this.#sql?.end({ timeout: 0 }).catch(() => undefined);
    this.#sql = undefined;
  }

  #write(): string {
    const lines = Object.entries(metrics).flatMap(([name, [type, help]]) => {
      const series = [...this.#of(name as Metric)].map(([key, value]) => `${name}${key} ${value}`);
      return series.length > 0 ? [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...series] : [];
    });
    return `${lines.join("\n")}\n`;
  }
}

function written(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value.replace(/["\\\n]/g, escaped)}"`);
  return pairs.length > 0 ? `{${pairs.join(",")}}` : "";
}

const escaped = (char: string) => (char === "\n" ? "\\n" : `\\${char}`);
