import type { Duplex } from "node:stream";
import postgres from "postgres";
import { isConnectionFailure, unavailable } from "../http/api-error.ts";
import { environment } from "../runtime/environment.ts";
import { Pipeline } from "./pipeline.ts";
import { connectingTo, connectionLost } from "./socket.ts";

/** The role of the connection's last request: after a role change Postgres plans statements again. */
type Role = "anon" | "authenticated" | "service_key" | "login";
/** The client of a connection. `caller` is a user, key or address; undefined if unknown. */
export type ConnectionOwner = { role: Role; caller: string | undefined };

// A connection serves one request at a time, so that its statements can be pipelined.
type Connection = {
  /** postgres.js logs in and monitors the connection; the pipeline sends the statements. */
  login: postgres.Sql;
  pipeline: Promise<Pipeline>;
  role: Role;
  lost: boolean;
  onLost: () => void;
  idleSince: number;
  idleTimer?: ReturnType<typeof setTimeout>;
};
type Waiting = { caller: string | undefined; take(): void };

const maxConnections = environment.databaseConnections;
const maxQueued = 2000;
// Limits one caller, so that connections remain for others.
const maxPerCaller = Math.max(1, Math.floor(maxConnections / 4));
const maxQueuedPerCaller = maxQueued / 4;
const maxWaitMs = environment.databaseWaitSeconds * 1000;
const maxIdleMs = environment.databaseIdleSeconds * 1000;
// Longer than the role's statement_timeout: reached only if the database does not respond at all.
const maxWorkMs = 9_000;

// Not SUPABASE_DB_URL: that role bypasses row-level security.
if (!environment.databaseUrl) throw new Error("DATABASE_URL is missing: the URL of role feedback_api (docs/deploy.md)");
const databaseUrl = environment.databaseUrl;
const { socket, ssl } = connectingTo("DATABASE_URL", databaseUrl);

/** Connections in use, by caller and in total. */
class Counts {
  total = 0;
  private readonly of = new Map<string, number>();

  get(caller: string | undefined): number {
    return caller === undefined ? 0 : (this.of.get(caller) ?? 0);
  }

  add(caller: string | undefined, change: 1 | -1): void {
    this.total += change;
    if (caller === undefined) return;
    const count = this.get(caller) + change;
    if (count === 0) this.of.delete(caller);
    else this.of.set(caller, count);
  }
}

const idle: Connection[] = [];
/** Queued requests in order of arrival; a caller below its limit goes first. */
const queue: Waiting[] = [];
const busyOf = new Counts();
const waitingOf = new Counts();

/**
 * Runs `work` with a connection. Responds 503 if the connection was lost meanwhile, because its results cannot be
 * trusted.
 */
export async function withConnection<Result>(
  borrower: ConnectionOwner,
  work: (pipeline: Pipeline) => Promise<Result>,
): Promise<Result> {
  await turnOf(borrower.caller);
  const connection = takeIdle(borrower.role) ?? connect();
  connection.role = borrower.role;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const failure = new Promise<never>((_, reject) => {
    connection.onLost = () => reject(connectionLost());
    timer = setTimeout(connection.onLost, maxWorkMs);
  });
  try {
    const result = await Promise.race([connection.pipeline.then(work), failure]);
    if (connection.lost) throw connectionLost();
    return result;
  } catch (error) {
    connection.lost ||= isConnectionFailure(error);
    throw connection.lost ? unavailable() : error;
  } finally {
    clearTimeout(timer);
    if (connection.lost) close(connection);
    else keepIdle(connection);
    busyOf.add(borrower.caller, -1);
    admitNext();
  }
}

/** Resolves when the caller may use a connection, which then counts as theirs; 503 after 4 seconds. */
function turnOf(caller: string | undefined): Promise<void> | void {
  if (mayHave(caller)) return busyOf.add(caller, 1);
  if (queue.length >= maxQueued || waitingOf.get(caller) >= maxQueuedPerCaller) throw unavailable();
  return new Promise((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer);
      queue.splice(queue.indexOf(one), 1);
      waitingOf.add(caller, -1);
    };
    const one: Waiting = {
      caller,
      take() {
        leave();
        busyOf.add(caller, 1);
        resolve();
      },
    };
    const timer = setTimeout(() => {
      leave();
      reject(unavailable());
    }, maxWaitMs);
    queue.push(one);
    waitingOf.add(caller, 1);
  });
}

function mayHave(caller: string | undefined): boolean {
  return busyOf.total < maxConnections && busyOf.get(caller) < maxPerCaller;
}

function admitNext() {
  queue.find(({ caller }) => mayHave(caller))?.take();
}

/** Prefers a connection whose last request had the same role. */
function takeIdle(role: Role): Connection | undefined {
  // Timers do not fire while a worker is suspended.
  while (idle[0] && performance.now() - idle[0].idleSince > maxIdleMs) close(idle[0]);
  const same = idle.findLastIndex((connection) => connection.role === role);
  const [connection] = idle.splice(same, 1);
  if (connection) clearTimeout(connection.idleTimer);
  return connection;
}

function keepIdle(connection: Connection) {
  connection.idleSince = performance.now();
  connection.onLost = () => close(connection);
  connection.idleTimer = setTimeout(connection.onLost, maxIdleMs);
  idle.push(connection);
}

function close(connection: Connection) {
  clearTimeout(connection.idleTimer);
  connection.onLost = () => {};
  const at = idle.indexOf(connection);
  if (at !== -1) idle.splice(at, 1);
  connection.login.end({ timeout: 0 }).catch(() => {});
}

/** A lost connection is not reused: postgres.js would silently open another one. */
function connect(): Connection {
  let opened: Duplex | undefined;
  const open = async (address: Parameters<typeof socket>[0]) => {
    opened = await socket(address);
    return opened;
  };
  // The types of postgres.js lack `socket`.
  const transport = { socket: once(open), ssl };
  const login = postgres(databaseUrl, {
    ...transport,
    max: 1,
    max_lifetime: null,
    connect_timeout: 5,
    fetch_types: false,
    onclose: () => {
      connection.lost = true;
      connection.onLost();
    },
    connection: { application_name: "feedback-functions" },
    onnotice: () => {},
  });
  const logIn = async () => {
    try {
      await login`select 1`.simple();
    } catch (error) {
      connection.lost = true;
      throw error;
    }
    if (!opened) throw connectionLost();
    // From here on postgres.js only reports the end of the connection.
    opened.removeAllListeners("data");
    return new Pipeline(opened, environment.databasePrepare);
  };
  const connection: Connection = {
    role: "login",
    lost: false,
    onLost: () => {},
    idleSince: 0,
    login,
    pipeline: logIn(),
  };
  return connection;
}

function once<Argument, Result>(make: (argument: Argument) => Result): (argument: Argument) => Result {
  let opened = false;
  return (argument) => {
    if (opened) throw connectionLost();
    opened = true;
    return make(argument);
  };
}
