import { dataApiConnections } from "../data-api/postgrest.ts";

/** Limits of one client at the gateway. A caller is an address, and also a user if a token names one. */
export interface GatewayLimits {
  /** Open connections; more are closed at once. */
  connections: number;
  connectionsPerAddress: number;
  /** Milliseconds the head of a request may take. */
  headMs: number;
  /** Milliseconds for a body, or for a pause of a large one. */
  bodyMs: number;
  /** Bytes of a body for the functions, enough for the largest import file. */
  functionsBody: number;
  /** Bytes of a body of /auth/v1 and /rest/v1. */
  authBody: number;
  restBody: number;
  /** Concurrent requests. */
  auth: Turns;
  rest: Turns;
  /** Milliseconds of slow statements of a caller in a window; more are rejected until it ends. */
  slowWorkMs: number;
  slowWorkWindowMs: number;
  /** Milliseconds from which a statement counts as slow. */
  slowMs: number;
  /** Milliseconds in which auth and the data API must respond. */
  answerMs: number;
  /** Bytes of auth and data API bodies and responses, and of the functions' large answers, in memory. */
  heldBytesPerAddress: number;
  heldBytes: number;
  /** Minimum rate of a reader in bytes and milliseconds; slower ones are disconnected. */
  readBytes: number;
  readMs: number;
}

export interface Turns {
  total: number;
  perCaller: number;
  /** Queued requests of a caller, and their maximum waiting time in milliseconds. */
  waitingPerCaller: number;
  waitMs: number;
}

export const defaultLimits: GatewayLimits = {
  connections: 20_000,
  connectionsPerAddress: 1_000,
  headMs: 20_000,
  bodyMs: 10_000,
  functionsBody: 64 * 1024 * 1024,
  authBody: 64 * 1024,
  restBody: 1024 * 1024,
  auth: { total: 128, perCaller: 48, waitingPerCaller: 100, waitMs: 10_000 },
  rest: { total: dataApiConnections, perCaller: 4, waitingPerCaller: 500, waitMs: 10_000 },
  slowWorkMs: 20_000,
  slowWorkWindowMs: 60_000,
  slowMs: 1_000,
  answerMs: 20_000,
  heldBytesPerAddress: 64 * 1024 * 1024,
  heldBytes: 256 * 1024 * 1024,
  readBytes: 16 * 1024,
  readMs: 20_000,
};
