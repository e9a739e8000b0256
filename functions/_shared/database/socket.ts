import { Buffer } from "node:buffer";
import { createConnection, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { environment } from "../runtime/environment.ts";
import { logWarning } from "../runtime/log.ts";
import { authoritiesFor } from "./tls.ts";

type Address = { host: string[]; port: number[]; path?: string | false };
type Server = { hostname: string; port: number; authorities: string[] };

const connectTimeoutMs = 5_000;

/**
 * postgres.js options for the database URL in an environment variable. TLS of postgres.js fails on Deno 2.1, so TLS is
 * established here.
 */
export function connectingTo(variable: string, url: string) {
  const authorities = authoritiesFor(variable, url, environment.databaseCa);
  const openSocket = async ({ host: [hostname = ""], port: [port = 5432], path }: Address) => {
    try {
      const socket = authorities
        ? await openTls({ hostname, port, authorities })
        : await openPlain(path ? { path } : { host: hostname, port });
      warnOfRefusals(socket, variable);
      return socket;
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error);
      warnOnce(`${variable}: no connection to ${hostname}:${port}: ${cause}${adviceOn(cause)}`);
      throw connectionLost();
    }
  };
  // ssl: false, because TLS is established already.
  return { socket: openSocket, ssl: false } as const;
}

export const connectionLost = () =>
  Object.assign(new Error("No connection to the database."), { code: "CONNECTION_CLOSED" });

function openPlain(address: { path: string } | { host: string; port: number }): Promise<Socket> {
  const socket = createConnection(address);
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    const timer = setTimeout(() => fail(tooLate()), connectTimeoutMs);
    socket.once("error", fail);
    socket.once("connect", () => {
      clearTimeout(timer);
      socket.off("error", fail);
      resolve(socket);
    });
  });
}

const tooLate = () => new Error(`no answer within ${connectTimeoutMs / 1000} seconds`);

async function openTls(server: Server): Promise<Duplex> {
  let open: Deno.Conn | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooLate()), connectTimeoutMs);
  });
  const attempt = encrypted(server, (conn) => {
    open = conn;
  });
  try {
    return streamOf(await Promise.race([attempt, late]));
  } catch (error) {
    close(open);
    // After the timeout the attempt continues and may still open a connection.
    attempt.then(close, () => {});
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

const sslRequest = Uint8Array.of(0, 0, 0, 8, 4, 210, 22, 47);

async function encrypted(
  { hostname, port, authorities }: Server,
  hold: (conn: Deno.Conn) => void,
): Promise<Deno.TlsConn> {
  const tcp = await Deno.connect({ hostname, port });
  hold(tcp);
  tcp.setNoDelay(true);
  tcp.setKeepAlive(true);
  await tcp.write(sslRequest);
  // Read exactly one byte: plain text after it must not be treated as an encrypted response.
  const answer = new Uint8Array(1);
  await tcp.read(answer);
  if (answer[0] !== "S".charCodeAt(0)) throw new Error("the server does not speak TLS");
  const tls = await Deno.startTls(tcp, { hostname, caCerts: authorities });
  hold(tls);
  await tls.handshake();
  return tls;
}

function adviceOn(cause: string): string {
  return cause.includes("UnknownIssuer") ? ". Set DATABASE_CA to the certificate of the server's authority (PEM)." : "";
}

function close(conn: Deno.Conn | undefined) {
  try {
    conn?.close();
  } catch {
    // It is closed, or TLS replaced it.
  }
}

/** The socket interface that postgres.js uses. */
function streamOf(conn: Deno.TlsConn): Duplex {
  const buffer = new Uint8Array(64 * 1024);
  const stream = new Duplex({
    allowHalfOpen: false,
    read() {
      conn.read(buffer).then(
        (count) => this.push(count === null ? null : Buffer.from(buffer.slice(0, count).buffer)),
        () => this.destroy(connectionLost()),
      );
    },
    write(chunk: Uint8Array, _encoding, done) {
      writeAll(conn, chunk).then(
        () => done(),
        () => done(connectionLost()),
      );
    },
    destroy(error, done) {
      close(conn);
      done(error);
    },
  });
  return Object.defineProperty(stream, "readyState", { get: () => (stream.destroyed ? "closed" : "open") });
}

async function writeAll(conn: Deno.Conn, bytes: Uint8Array) {
  for (let sent = 0; sent < bytes.length; ) sent += await conn.write(bytes.subarray(sent));
}

/** Logs why Postgres rejected a login; clients only get a 503. */
function warnOfRefusals(socket: Duplex, variable: string) {
  const look = (chunk: Uint8Array) => {
    for (const { type, body } of messagesIn(chunk)) {
      if (type === "E") warnOnce(`${variable}: Postgres refuses the connection: ${refusalIn(body)}`);
      if (type === "E" || type === "Z") socket.off("data", look);
    }
  };
  socket.on("data", look);
}

function* messagesIn(chunk: Uint8Array): Generator<{ type: string; body: Uint8Array }> {
  const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  for (let at = 0; at + 5 <= chunk.length; at += 1 + view.getUint32(at + 1))
    yield {
      type: String.fromCharCode(view.getUint8(at)),
      body: chunk.subarray(at + 5, at + 1 + view.getUint32(at + 1)),
    };
}

/** SQLSTATE and message of an ErrorResponse; other fields may quote user data. */
function refusalIn(body: Uint8Array): string {
  const fields = new TextDecoder().decode(body).split("\0");
  const field = (name: string) => fields.find((text) => text.startsWith(name))?.slice(1) ?? "";
  return `${field("C")} ${field("M")}`;
}

const warned = new Map<string, number>();

/** Logs each warning at most once in ten seconds. */
function warnOnce(warning: string) {
  const now = performance.now();
  if (now - (warned.get(warning) ?? Number.NEGATIVE_INFINITY) < 10_000) return;
  if (warned.size >= 100) warned.clear();
  warned.set(warning, now);
  logWarning(warning);
}
