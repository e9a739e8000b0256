import { readFile } from "node:fs/promises";
import { type IncomingMessage, STATUS_CODES } from "node:http";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import postgres from "postgres";
import { WebSocketServer } from "ws";
import { networkOf } from "../../shared/network-address.ts";
import type { Keys } from "../auth/identity.ts";
import { clientAddress } from "../gateway/client-address.ts";
import { withDatabase } from "../postgres/database.ts";
import { root } from "../root.ts";
import { createAuthorization } from "./authorization.ts";
import { createCatalog } from "./catalog.ts";
import { Channel, type Core } from "./channel.ts";
import { Connection } from "./connection.ts";
import { deliver } from "./delivery.ts";
import { readHandshake } from "./handshake.ts";
import { type Address, Budget, defaultLimits, type Limits, Rate } from "./limits.ts";
import type { Message } from "./protocol.ts";
import { followChanges } from "./replication.ts";
import { Subscriptions } from "./subscriptions.ts";

export interface RealtimeOptions {
  /** URL of the role postgres: replicates, and assumes the roles of the API. */
  databaseUrl: string;
  /** Installs the SQL functions of this server. */
  superuserUrl: string;
  keys: Keys;
  /** Header with the client address, of the operator's proxy. */
  proxyHeader?: string | undefined;
  limits?: Partial<Limits>;
  onWarning(message: string): void;
  /** Called when a websocket opens or closes. */
  onSockets?(open: number): void;
}

export interface Realtime {
  /** Handles an upgrade; returns whether it did. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  stop(): Promise<void>;
}

const deliveryConnections = 3;
const joinConnections = 2;
const warningMs = 3_600_000;
const publication = "supabase_realtime";
const messagesPublication = "supabase_realtime_messages_publication";

export async function startRealtime(options: RealtimeOptions): Promise<Realtime> {
  const functions = await readFile(join(root, "local", "realtime", "database.sql"), "utf8");
  await withDatabase(options.superuserUrl, (database) => database.unsafe(functions));
  const limits = { ...defaultLimits, ...options.limits };
  const pool = (max: number) =>
    postgres(options.databaseUrl, {
      max,
      onnotice: () => undefined,
      connection: { application_name: "realtime", statement_timeout: 10_000 },
    });
  const [sql, joinSql] = [pool(deliveryConnections), pool(joinConnections)];
  const connections = new Set<Connection>();
  const addresses = new Map<string, Address>();
  const refusedAt = new Map<string, number>();
  const core: Core = {
    keys: options.keys,
    limits,
    sql,
    joinSql,
    catalog: createCatalog(sql, publication),
    mayRead: createAuthorization(joinSql),
    subscriptions: new Subscriptions(),
    topics: new Map(),
    onWarning: options.onWarning,
    onRefusal(what, address) {
      if (performance.now() - (refusedAt.get(what) ?? Number.NEGATIVE_INFINITY) < warningMs) return;
      refusedAt.set(what, performance.now());
      options.onWarning(`realtime refuses ${what}, such as of ${address}`);
    },
    isUp: () => replication.isUp(),
  };
  const allKept = new Budget(limits.keptBytesInAll, null, () =>
    core.onRefusal("to keep more for all sockets", "any address"),
  );
  const newAddress = (name: string): Address => ({
    name,
    sockets: 0,
    budget: new Budget(limits.keptBytesPerAddress * limits.socketsPerAddress, allKept, () =>
      core.onRefusal("to keep more for an address", name),
    ),
    // A message a second of each socket, on average.
    rate: new Rate(limits.socketsPerAddress),
    lastQuery: Promise.resolve(),
  });
  let firstUp: () => void = () => undefined;
  const isFirstUp = new Promise<void>((resolve) => {
    firstUp = resolve;
  });
  const replication = followChanges({
    url: options.databaseUrl,
    publications: [publication, messagesPublication],
    deliver: (changes) => deliver(core, changes),
    onRelation: () => core.catalog.forget(),
    onUp: () => firstUp(),
    onDown(reason) {
      options.onWarning(`realtime lost its connection to Postgres and connects again: ${reason}`);
      // Changes may have been missed.
      for (const { channels } of connections) for (const channel of channels.values()) channel.end("phx_error");
    },
  });
  await sql`select realtime.keep_partitions()`;
  // Opens connections in advance, for the first change.
  await Promise.all([
    isFirstUp,
    core.catalog.tables(),
    ...Array.from({ length: deliveryConnections }, () => sql`select 1`),
  ]);

  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: limits.frameSize,
    // A part of an unfinished message may keep all that was read with it.
    maxFragments: 4,
    maxBufferedChunks: 64,
    perMessageDeflate: false,
  });
  const upkeep = setInterval(() => {
    const now = performance.now();
    for (const connection of connections) if (connection.isSilent(now)) connection.terminate();
  }, limits.silence / 8);
  const partitions = setInterval(() => {
    sql`select realtime.keep_partitions()`.catch(() => undefined);
  }, 3_600_000);

  return {
    upgrade(request, socket, head) {
      const handshake = readHandshake(request, options.keys);
      if (!handshake.accepted) return refuse(socket, handshake.status, handshake.error);
      if (connections.size >= limits.sockets) return refuse(socket, 429, "Too many connected users");
      const name = networkOf(clientAddress(request, options.proxyHeader));
      const address = addresses.get(name) ?? newAddress(name);
      if (address.sockets >= limits.socketsPerAddress)
        return refuse(socket, 429, "Too many connections from this address");
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        const { version, identity } = handshake;
        const connection = new Connection(core, webSocket, address, version, identity, (from, message) =>
          handle(core, from, message),
        );
        connections.add(connection);
        options.onSockets?.(connections.size);
        addresses.set(name, address);
        address.sockets++;
        webSocket.on("close", () => {
          if (--address.sockets === 0) addresses.delete(name);
          connections.delete(connection);
          options.onSockets?.(connections.size);
          for (const channel of [...connection.channels.values()]) channel.leave();
          connection.budget.end();
        });
      });
      return true;
    },
    async stop() {
      clearInterval(upkeep);
      clearInterval(partitions);
      await replication.stop();
      for (const connection of connections) connection.close(1012, "Realtime is restarting");
      const forced = setTimeout(() => {
        for (const connection of connections) connection.terminate();
      }, 500);
      await new Promise<void>((closed) => sockets.close(() => closed()));
      clearTimeout(forced);
      await Promise.all([sql.end({ timeout: 2 }), joinSql.end({ timeout: 2 })]);
    },
  };
}

async function handle(core: Core, connection: Connection, message: Message): Promise<void> {
  if (!connection.isOpen()) return;
  if (message.topic === "phoenix") {
    if (message.event === "heartbeat") connection.reply(message, "ok");
    return;
  }
  const current = connection.channels.get(message.topic);
  if (message.event === "phx_join") {
    current?.end("phx_close");
    if (connection.channels.size >= core.limits.channelsPerSocket)
      return connection.reply(message, "error", { reason: "ChannelRateLimitReached: Too many channels" });
    const channel = new Channel(core, connection, message);
    connection.channels.set(message.topic, channel);
    return channel.open(message.payload);
  }
  if (current) return current.receive(message);
  // Phoenix's reply for a topic that was not joined; a client that leaves twice waits for it.
  connection.reply(message, message.event === "phx_leave" ? "ok" : "error", { reason: "unmatched topic" });
}

function refuse(socket: Duplex, status: number, error: string): true {
  const body = JSON.stringify({ error });
  // A client that keeps its side open would occupy an uncounted socket.
  socket.once("finish", () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  return true;
}
