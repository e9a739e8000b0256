import type { Duplex } from "node:stream";
import postgres from "postgres";
import { isConnectionFailure, unavailable } from "./api-error.ts";
import { Pipeline } from "./database-pipeline.ts";
import { connectingTo, connectionLost } from "./database-socket.ts";
import { environment } from "./environment.ts";

/** The role that a connection served last: Postgres plans a statement anew where the role changed. */
type Role = "anon" | "authenticated" | "service_key" | "login";
/** For whom a connection is wanted. `caller` is a user, a key or an address; undefined where none is known. */
export type Borrower = { role: Role; caller: string | undefined };

// A connection serves one request at a time, so that its statements can be sent without waiting for each other.
type Connection = {
  /** Logs in and watches over the connection; statements go by the pipeline. */
  login: postgres.Sql;
  pipeline: Promise<Pipeline>;
  role: Role;
  lost: boolean;
  onLost: () => void;
  idleSince: number;
  idleTimer?: ReturnType<typeof setTimeout>;
};
type Waiting = { caller: string | undefined; take(): void };

const mostConnections = environment.databaseConnections;
const mostWaiting = 2000;
// One caller, however busy, leaves the rest to the others.
const mostOfOne = Math.max(1, Math.floor(mostConnections / 4));
const mostWaitingOfOne = mostWaiting / 4;
const longestWaitMs = environment.databaseWaitSeconds * 1000;
const longestIdleMs = environment.databaseIdleSeconds * 1000;
// Above the role's statement_timeout: it comes to this only where the database does not answer at all.
const longestWorkMs = 9_000;

// Not SUPABASE_DB_URL: that role bypasses row-level security.
if (!environment.databaseUrl)
  throw new Error("DATABASE_URL is missing: the URL of role feedback_api (docs/deploy.md)");
const databaseUrl = environment.databaseUrl;
const { socket, ssl } = connectingTo("DATABASE_URL", databaseUrl);

/** How many of each caller there are, and of all. */
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
/** In the order they came; each goes first among those whose caller has less than its share. */
const waiting: Waiting[] = [];
const busyOf = new Counts();
const waitingOf = new Counts();

/** Lends a connection to `work`. Nothing that came of a connection that was lost meanwhile is to be trusted: 503. */
export async function withConnection<Result>(
  borrower: Borrower,
  work: (pipeline: Pipeline) => Promise<Result>,
): Promise<Result> {
  await turnOf(borrower.caller);
  const connection = takeIdle(borrower.role) ?? connect();
  connection.role = borrower.role;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const failure = new Promise<never>((_, reject) => {
    connection.onLost = () => reject(connectionLost());
    timer = setTimeout(connection.onLost, longestWorkMs);
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
    letNextIn();
  }
}

/** Resolves when this caller may have a connection, which counts as theirs from then on; after 4 seconds 503. */
function turnOf(caller: string | undefined): Promise<void> | void {
  if (mayHave(caller)) return busyOf.add(caller, 1);
  if (waiting.length >= mostWaiting || waitingOf.get(caller) >= mostWaitingOfOne) throw unavailable();
  return new Promise((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer);
      waiting.splice(waiting.indexOf(one), 1);
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
    }, longestWaitMs);
    waiting.push(one);
    waitingOf.add(caller, 1);
  });
}

function mayHave(caller: string | undefined): boolean {
  return busyOf.total < mostConnections && busyOf.get(caller) < mostOfOne;
}

function letNextIn() {
  waiting.find(({ caller }) => mayHave(caller))?.take();
}

/** By choice one that served the role last. */
function takeIdle(role: Role): Connection | undefined {
  // A worker that slept has not heard its timers.
  while (idle[0] && Date.now() - idle[0].idleSince > longestIdleMs) close(idle[0]);
  const same = idle.findLastIndex((connection) => connection.role === role);
  const [connection] = idle.splice(same, 1);
  if (connection) clearTimeout(connection.idleTimer);
  return connection;
}

function keepIdle(connection: Connection) {
  connection.idleSince = Date.now();
  connection.onLost = () => close(connection);
  connection.idleTimer = setTimeout(connection.onLost, longestIdleMs);
  idle.push(connection);
}

function close(connection: Connection) {
  clearTimeout(connection.idleTimer);
  connection.onLost = () => {};
  const at = idle.indexOf(connection);
  if (at !== -1) idle.splice(at, 1);
  connection.login.end({ timeout: 0 }).catch(() => {});
}

/** One that is lost stays lost: postgres.js by itself would open another for the same object. */
function connect(): Connection {
  let opened: Duplex | undefined;
  const open = async (address: Parameters<typeof socket>[0]) => {
    opened = await socket(address);
    return opened;
  };
  // The types of postgres.js do not know `socket`.
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
    // From here on postgres.js only hears when it closes.
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
  let made = false;
  return (argument) => {
    if (made) throw connectionLost();
    made = true;
    return make(argument);
  };
}
