import { createDispatcher } from "../_shared/dispatch/dispatcher.ts";
import { serveDispatcher } from "../_shared/dispatch/server.ts";
import { type Claim, fanOut, type Result, reportAndClaim } from "./database.ts";
import { deliver } from "./delivery.ts";
import { closeIdle } from "./post.ts";

serveDispatcher(
  createDispatcher<Claim, Result>({
    name: "dispatch",
    maxConcurrent: 384,
    prepare: fanOut,
    reportAndClaim,
    send: deliver,
    outcomeOf: ({ error, status_code = 0 }) =>
      error ? "no_response" : status_code >= 200 && status_code < 300 ? "delivered" : "rejected",
    onIdle: closeIdle,
  }),
);
