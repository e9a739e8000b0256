import type { RateLimitedOperation } from "../../../shared/rate-limits.ts";

/** Arguments of private.admit_request and private.assume_caller. */
export type Admission = {
  requestId: string;
  userId: string | null;
  sessionId: string | null;
  aal: string | null;
  digest: Uint8Array | null;
  /** Whether the digest is that of an identified person's session instead of a key. */
  isSession: boolean;
  invalidCredential: boolean;
  /** Keyed hash of the client's address. */
  address: string | null;
  /** Rate limit rules charged in addition to the caller's level. */
  operations: RateLimitedOperation[];
  /** Id or slug. */
  organization: string | null;
  /** Keyed hash of the address or name of the author a key acts for. */
  onBehalf: string | null;
  /** Origin of the calling page, if it is not the site's own. */
  origin: string | null;
  /** A write authenticated by cookie. */
  needsOrigin: boolean;
  /** Table and id of the row in the path. */
  resource: string | null;
  resourceId: string | null;
  /** agent: an agent key, under /api/mcp. */
  access: Access | "agent";
  /** If access is caller, a key needs one of these. */
  scopes: string[];
  /**
   * The request may run for seconds: charge it in a transaction of its own, so that the caller's other requests do not
   * wait.
   */
  chargeFirst?: boolean;
  /** An earlier transaction of the same request charged it. */
  isCharged?: boolean;
  /** Whether the request goes on after an error, so that its charge is left to its next transaction. */
  isTriedAgain?: (error: unknown) => boolean;
};

/** public: anyone; person: a signed-in user; caller: a user, or a key with the endpoint's scope. */
export type Access = "public" | "person" | "caller";

/** The rate limit with the fewest remaining requests; reset_at in Unix seconds. */
export type RateState = { max_requests: number; remaining: number; reset_at: number };

/** Result of private.admit_request, whether the request is admitted or not. */
export type Verdict = RateState & { origin_allowed: boolean };
