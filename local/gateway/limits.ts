import { restConnections } from "../lite/limits.ts";

/** What one client may take of the gateway. A caller is an address, and a person where a token names one. */
export interface GatewayLimits {
  /** Open connections; those over it are closed at once. */
  connections: number;
  connectionsPerAddress: number;
  /** Milliseconds a body may take, or pause where it is a large one. */
  bodyMs: number;
  /** Bytes of a body for the functions: of the largest file to import. */
  functionsBody: number;
  /** Bytes of a body of /auth/v1 and /rest/v1. */
  authBody: number;
  restBody: number;
  /** Requests that run at once. */
  auth: Turns;
  rest: Turns;
  /** Milliseconds that a caller's slow statements may take within the window; more is refused until it ends. */
  slowWorkMs: number;
  slowWorkWindowMs: number;
  /** A statement is slow from here on. */
  slowMs: number;
  /** Milliseconds within which auth and the data API have to answer. */
  answerMs: number;
  /** Bytes of bodies and answers of auth and the data API that are held at once. */
  heldBytesPerAddress: number;
  heldBytes: number;
  /** A reader who takes less than so many bytes in so many milliseconds is cut off. */
  readBytes: number;
  readMs: number;
}

export interface Turns {
  total: number;
  perCaller: number;
  /** Requests of one caller that wait for their turn, and for how many milliseconds. */
  waitingPerCaller: number;
  waitMs: number;
}

export const defaultLimits: GatewayLimits = {
  connections: 20_000,
  connectionsPerAddress: 1_000,
  bodyMs: 10_000,
  functionsBody: 64 * 1024 * 1024,
  authBody: 64 * 1024,
  restBody: 1024 * 1024,
  auth: { total: 128, perCaller: 48, waitingPerCaller: 100, waitMs: 10_000 },
  rest: { total: restConnections, perCaller: 4, waitingPerCaller: 500, waitMs: 10_000 },
  slowWorkMs: 20_000,
  slowWorkWindowMs: 60_000,
  slowMs: 1_000,
  answerMs: 20_000,
  heldBytesPerAddress: 64 * 1024 * 1024,
  heldBytes: 256 * 1024 * 1024,
  readBytes: 16 * 1024,
  readMs: 20_000,
};
