import { resolvePublicAddresses } from "../_shared/dispatch/webhook-target.ts";

/** Response of a receiver: the first 8 KiB of its body, and Retry-After as sent. */
export type Reply = { status: number; body: string; retryAfter: string | undefined };

/** No complete response; the message goes to the delivery log. */
export class NoResponse extends Error {}

const timeoutMs = 10_000;
const maxBodyBytes = 8 * 1024;
const maxLineBytes = 8 * 1024;
/** Of a response with its headers, chunk sizes and interim responses. */
const maxResponseBytes = 64 * 1024;
const maxInterimResponses = 10;
/** After it, the next address of a host is tried too. */
const headStartMs = 250;
/** A host could name thousands of others, which would all be called for each event. */
const maxAddresses = 16;
const encoder = new TextEncoder();
const latin1 = new TextDecoder("latin1");

/**
 * Sends one POST over HTTP/1.1, complete within ten seconds. On the Deno versions of hosted Supabase neither fetch nor
 * node:https can connect to a given address: this client connects to the address that was checked, and TLS verifies the
 * host name. Redirects are not followed.
 */
export async function post(url: URL, headers: Record<string, string>, body: Uint8Array): Promise<Reply> {
  const abort = new AbortController();
  const late = new Promise<never>((_, reject) => {
    abort.signal.addEventListener("abort", () => reject(new NoResponse("No complete response within 10 seconds.")));
  });
  late.catch(() => {});
  const timer = setTimeout(() => abort.abort(), timeoutMs);
  let connection = takeIdle(url);
  try {
    const request = requestOf(url, headers, body);
    if (connection) {
      const reply = await Promise.race([roundTrip(connection, request), late]).catch(unlessStale(connection));
      // A 408 on an idle connection may have been on its way while this request was.
      if (reply && reply.status !== 408) return finish(url, connection, reply);
      connection.close();
    }
    connection = await Promise.race([open(url, abort.signal), late]);
    return finish(url, connection, await Promise.race([roundTrip(connection, request), late]));
  } catch (error) {
    connection?.close();
    throw error instanceof NoResponse ? error : new NoResponse(meaningOf(error));
  } finally {
    clearTimeout(timer);
  }
}

type Connection = {
  conn: Deno.Conn;
  received: Uint8Array;
  bytesLeft: number;
  /** A read that began while the connection was idle; `isDone` if it ended before the next request. */
  ahead?: { bytes: Promise<Uint8Array | null>; isDone: boolean };
  close(): void;
};
type RoundTrip = Reply & { reusable: boolean };

/** Connects to all checked addresses, each with a head start over the next; the first that accepts is used. */
async function open(url: URL, signal: AbortSignal): Promise<Connection> {
  const addresses = (await resolvePublicAddresses(url)).slice(0, maxAddresses);
  const found = new AbortController();
  const over = AbortSignal.any([signal, found.signal]);
  let turn: Promise<unknown> = Promise.resolve();
  const attempts = addresses.map((hostname) => {
    const attempt = turn.then(async () => {
      const connection = await connectTo(hostname, url, over);
      if (over.aborted) connection.close();
      over.throwIfAborted();
      found.abort();
      return connection;
    });
    const headStart = turn.then(() => new Promise((resolve) => setTimeout(resolve, headStartMs)));
    turn = Promise.race([attempt.catch(() => {}), headStart]);
    return attempt;
  });
  try {
    return await Promise.any(attempts);
  } catch (error) {
    throw (error as AggregateError).errors.at(-1) ?? new NoResponse("The host name has no address.");
  }
}

async function connectTo(hostname: string, url: URL, signal: AbortSignal): Promise<Connection> {
  signal.throwIfAborted();
  const secure = url.protocol === "https:";
  const tcp = await Deno.connect({ hostname, port: Number(url.port || (secure ? 443 : 80)), signal });
  if (signal.aborted) tcp.close();
  signal.throwIfAborted();
  tcp.setNoDelay(true);
  if (!secure) return connected(tcp);
  const tls = await Deno.startTls(tcp, { hostname: url.hostname.replace(/^\[|\]$/g, "") });
  const connection = connected(tls);
  signal.addEventListener("abort", connection.close);
  try {
    await tls.handshake();
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  } finally {
    signal.removeEventListener("abort", connection.close);
  }
}

function connected(conn: Deno.Conn): Connection {
  let open = true;
  return {
    conn,
    received: new Uint8Array(),
    bytesLeft: 0,
    close() {
      if (open) conn.close();
      open = false;
    },
  };
}

function requestOf(url: URL, headers: Record<string, string>, body: Uint8Array): Uint8Array {
  const lines = Object.entries({
    Host: url.host,
    ...headers,
    "Content-Length": String(body.length),
    Accept: "*/*",
    "Accept-Encoding": "identity",
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = encoder.encode(`POST ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join("")}\r\n`);
  const whole = new Uint8Array(head.length + body.length);
  whole.set(head);
  whole.set(body, head.length);
  return whole;
}

async function roundTrip(connection: Connection, request: Uint8Array): Promise<RoundTrip> {
  for (let sent = 0; sent < request.length; ) sent += await connection.conn.write(request.subarray(sent));
  connection.bytesLeft = maxResponseBytes;
  let head = await readHead(connection);
  for (let interim = 1; head.status < 200; interim++) {
    if (interim > maxInterimResponses) throw tooLong();
    head = await readHead(connection);
  }
  const { bytes, whole } = await readBody(connection, head);
  return {
    status: head.status,
    body: new TextDecoder().decode(bytes).replaceAll("\0", "\uFFFD"),
    retryAfter: head.headers.get("retry-after"),
    reusable: whole && head.keepsAlive,
  };
}

type Head = { status: number; headers: Map<string, string>; keepsAlive: boolean };

async function readHead(connection: Connection): Promise<Head> {
  const lines: string[] = [];
  for (let line = await readLine(connection); line !== "" || lines.length === 0; line = await readLine(connection)) {
    lines.push(line);
    if (lines.length > 100) throw notHttp();
  }
  const [first = "", ...rest] = lines;
  const [, minor, status] = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(first) ?? [];
  if (!status) throw notHttp();
  const headers = new Map<string, string>();
  for (const line of rest) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  const keepsAlive = minor === "1" && !/\bclose\b/i.test(headers.get("connection") ?? "");
  return { status: Number(status), headers, keepsAlive };
}

/** Reads at most 8 KiB. whole: nothing of the body is left on the connection. */
async function readBody(
  connection: Connection,
  { status, headers }: Head,
): Promise<{ bytes: Uint8Array; whole: boolean }> {
  if (status === 204 || status === 304) return { bytes: new Uint8Array(), whole: true };
  if (/\bchunked\b/i.test(headers.get("transfer-encoding") ?? "")) return readChunks(connection);
  const contentLength = headers.get("content-length");
  if (contentLength === undefined) {
    while (connection.received.length < maxBodyBytes && (await receive(connection)));
    return { bytes: take(connection, maxBodyBytes), whole: false };
  }
  if (!/^\d{1,15}$/.test(contentLength)) throw notHttp();
  const bytes = await readBytes(connection, Math.min(Number(contentLength), maxBodyBytes));
  return { bytes, whole: Number(contentLength) <= maxBodyBytes };
}

async function readChunks(connection: Connection): Promise<{ bytes: Uint8Array; whole: boolean }> {
  const body = new Uint8Array(maxBodyBytes);
  for (let length = 0; ; ) {
    const [size] = /^[0-9a-f]{1,8}/i.exec(await readLine(connection)) ?? [];
    if (size === undefined) throw notHttp();
    const left = Number.parseInt(size, 16);
    if (left === 0) {
      while ((await readLine(connection)) !== "");
      return { bytes: body.subarray(0, length), whole: true };
    }
    const chunk = await readBytes(connection, Math.min(left, maxBodyBytes - length));
    body.set(chunk, length);
    length += chunk.length;
    if (chunk.length < left) return { bytes: body.subarray(0, length), whole: false };
    await readBytes(connection, 2);
  }
}

async function readLine(connection: Connection): Promise<string> {
  for (let from = 0; ; ) {
    const end = connection.received.indexOf(10, from);
    if (end !== -1) return latin1.decode(take(connection, end + 1)).replace(/\r?\n$/, "");
    from = connection.received.length;
    if (from > maxLineBytes) throw notHttp();
    if (!(await receive(connection))) throw truncated();
  }
}

async function readBytes(connection: Connection, count: number): Promise<Uint8Array> {
  while (connection.received.length < count) if (!(await receive(connection))) throw truncated();
  return take(connection, count);
}

function take(connection: Connection, count: number): Uint8Array {
  const chunk = connection.received.subarray(0, count);
  connection.received = connection.received.subarray(count);
  return chunk;
}

/** Returns whether more bytes arrived. */
async function receive(connection: Connection): Promise<boolean> {
  const bytes = await (connection.ahead?.bytes ?? read(connection));
  connection.ahead = undefined;
  if (bytes === null) return false;
  connection.bytesLeft -= bytes.length;
  if (connection.bytesLeft < 0) throw tooLong();
  const { received } = connection;
  if (received.length === 0) {
    connection.received = bytes;
  } else {
    const joined = new Uint8Array(received.length + bytes.length);
    joined.set(received);
    joined.set(bytes, received.length);
    connection.received = joined;
  }
  return true;
}

/** The next bytes; null at the end of the connection. */
async function read({ conn }: Connection): Promise<Uint8Array | null> {
  const space = new Uint8Array(2 * 1024);
  const count = await conn.read(space);
  return count === null ? null : space.subarray(0, count);
}

const notHttp = () => new NoResponse("The response is not HTTP/1.1.");
const tooLong = () => new NoResponse("The response is too long.");
const truncated = () => new TruncatedResponse("The connection was closed before the response was complete.");
class TruncatedResponse extends NoResponse {}

// Kept-alive connections. A connection leads to the address that was checked when it was opened, whatever the name
// resolves to now.

const idle = new Map<string, { connection: Connection; until: number }[]>();
// Many receivers close idle connections after five seconds.
const idleMs = 3_000;

function takeIdle(url: URL): Connection | undefined {
  const list = idle.get(url.origin) ?? [];
  for (let last = list.pop(); last; last = list.pop()) {
    if (last.until > performance.now() && !last.connection.ahead?.isDone) return last.connection;
    last.connection.close();
  }
}

function finish(url: URL, connection: Connection, { reusable, ...reply }: RoundTrip): Reply {
  if (reusable && connection.received.length === 0) {
    const list = idle.get(url.origin) ?? [];
    idle.set(url.origin, list);
    list.push({ connection, until: performance.now() + idleMs });
    // What comes before the next request is no answer to it: an end, a 408, anything.
    const ahead = { bytes: read(connection), isDone: false };
    const done = () => {
      ahead.isDone = true;
    };
    ahead.bytes.then(done, done);
    connection.ahead = ahead;
  } else {
    connection.close();
  }
  return reply;
}

/** Closes idle connections. */
export function closeIdle(): void {
  for (const [origin, list] of idle) {
    const remaining = list.filter(({ connection, until }) => until > performance.now() || connection.close());
    if (remaining.length > 0) idle.set(origin, remaining);
    else idle.delete(origin);
  }
}

/** The receiver may have closed an idle connection: if there was no response, retry on a new connection. */
function unlessStale(connection: Connection) {
  return (error: unknown): undefined => {
    const nothingCame = connection.received.length === 0;
    connection.close();
    if (nothingCame && (error instanceof TruncatedResponse || isReset(error))) return undefined;
    throw error;
  };
}

const isReset = (error: unknown) =>
  error instanceof Deno.errors.ConnectionReset ||
  error instanceof Deno.errors.BrokenPipe ||
  error instanceof Deno.errors.ConnectionAborted ||
  error instanceof Deno.errors.UnexpectedEof;

/** Message for the delivery log: what the receiver's owner can fix, without details of this machine. */
function meaningOf(error: unknown): string {
  if (error instanceof Deno.errors.ConnectionRefused) return "The connection was refused.";
  if (isReset(error)) return "The connection was reset.";
  if (error instanceof Deno.errors.InvalidData) return `TLS failed: ${error.message}.`;
  if (error instanceof Error && "code" in error && error.code === "ENOTFOUND") return "The host name does not resolve.";
  return error instanceof Error ? error.message : String(error);
}
