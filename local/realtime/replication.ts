import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { type Change, createDecoder } from "./pgoutput.ts";

export interface ReplicationOptions {
  url: string;
  publications: string[];
  /** Receives changes in commit order; the next batch follows when the promise resolves. */
  deliver(changes: Change[]): Promise<void>;
  /** A table was described for the first time on this connection, or altered. */
  onRelation(): void;
  onUp(): void;
  onDown(reason: string): void;
}

export interface Replication {
  isUp(): boolean;
  stop(): Promise<void>;
}

const maxBatch = 200;
const maxQueue = 2000;

/**
 * Follows committed changes and reconnects forever. The slot is temporary: it ends with its connection, so that an
 * absent server does not make Postgres retain WAL. Changes committed meanwhile are not delivered.
 */
export function followChanges(options: ReplicationOptions): Replication {
  let stopping = false;
  let up = false;
  let close: (() => void) | undefined;
  const run = async () => {
    for (let pause = 100; !stopping; pause = Math.min(pause * 2, 1000)) {
      const connection = follow(options, () => {
        up = true;
        pause = 100;
        options.onUp();
      });
      close = connection.close;
      if (stopping) close();
      const reason = await connection.ended;
      const wasUp = up;
      up = false;
      if (wasUp && !stopping) options.onDown(reason);
      if (!stopping) await sleep(pause);
    }
  };
  const running = run();
  return {
    isUp: () => up,
    async stop() {
      stopping = true;
      close?.();
      await running;
    },
  };
}

function follow(options: ReplicationOptions, onUp: () => void): { ended: Promise<string>; close(): void } {
  let end: (reason: string) => void = () => undefined;
  const ended = new Promise<string>((resolve) => {
    end = resolve;
  });
  const sql = postgres(options.url, {
    max: 1,
    fetch_types: false,
    idle_timeout: 0,
    max_lifetime: null,
    connect_timeout: 10,
    onnotice: () => undefined,
    onclose: () => end("Postgres closed the connection"),
    // postgres.js passes `replication` on as an unknown start-up parameter.
    connection: { application_name: "realtime", ...{ replication: "database" } },
  });
  const fail = (error: unknown) => end(error instanceof Error ? error.message : String(error));
  start(sql, options, fail).then(onUp, fail);
  return { ended: ended.finally(() => sql.end({ timeout: 0 }).catch(() => undefined)), close: () => end("stopped") };
}

async function start(sql: postgres.Sql, options: ReplicationOptions, fail: (error: unknown) => void): Promise<void> {
  const slot = `realtime_${randomBytes(8).toString("hex")}`;
  const [made] = await sql.unsafe<{ consistent_point: string }[]>(
    `CREATE_REPLICATION_SLOT ${slot} TEMPORARY LOGICAL pgoutput NOEXPORT_SNAPSHOT`,
  );
  if (made === undefined) throw new Error("no replication slot");
  const stream = (await sql
    .unsafe(
      `START_REPLICATION SLOT ${slot} LOGICAL ${made.consistent_point} (proto_version '1', publication_names '${options.publications.join(",")}')`,
    )
    .writable()) as Duplex;
  consume(stream, options, fail);
}

interface Step {
  change: Change | null;
  /** WAL position to confirm after delivery. */
  done: bigint | null;
}

function consume(stream: Duplex, options: ReplicationOptions, fail: (error: unknown) => void): void {
  const decode = createDecoder();
  const queue: Step[] = [];
  let delivered = 0n;
  let delivering = false;
  let confirmedAt = 0;

  const confirm = () => {
    confirmedAt = performance.now();
    stream.write(confirmation(delivered));
  };
  const pump = async () => {
    if (delivering) return;
    delivering = true;
    while (queue.length > 0) {
      const steps = queue.splice(0, maxBatch);
      const changes = steps.flatMap(({ change }) => change ?? []);
      if (changes.length > 0) await options.deliver(changes);
      delivered = steps.reduce((last, { done }) => done ?? last, delivered);
      if (performance.now() - confirmedAt > 1000) confirm();
      if (queue.length < maxQueue) stream.resume();
    }
    delivering = false;
  };

  stream.on("error", fail);
  stream.on("close", () => fail(new Error("the stream of changes ended")));
  stream.on("data", (message: Buffer) => {
    try {
      const kind = String.fromCharCode(message.readUInt8(0));
      if (kind === "k") {
        // Respond to keepalives, or a Postgres shutdown would wait for this client.
        if (queue.length === 0 && !delivering) delivered = message.readBigInt64BE(1);
        if (message.readUInt8(17) === 1) confirm();
        return;
      }
      const decoded = decode(message.subarray(25));
      if (decoded === null) return;
      if (decoded.kind === "relation") return options.onRelation();
      if (decoded.kind === "change") queue.push({ change: decoded.change, done: null });
      else queue.push({ change: null, done: decoded.end });
      if (queue.length >= maxQueue) stream.pause();
      pump().catch(fail);
    } catch (error) {
      fail(error);
    }
  });
}

/** Standby status update: written, flushed and applied up to the same position. */
function confirmation(position: bigint): Buffer {
  const message = Buffer.alloc(34);
  message.write("r");
  for (const at of [1, 9, 17]) message.writeBigInt64BE(position, at);
  message.writeBigInt64BE(BigInt(Date.now() - Date.UTC(2000, 0, 1)) * 1000n, 25);
  return message;
}
