import { createDispatcher } from "../_shared/dispatch/dispatcher.ts";
import { serveDispatcher } from "../_shared/dispatch/server.ts";
import { createAuthMail } from "../auth-mail/hook.ts";
import { type Claim, type Result, reportAndClaim } from "./database.ts";
import { receiveReport } from "./reports.ts";
import { createSender } from "./sender.ts";
import { maxConnections } from "./smtp.ts";

const sender = createSender();

serveDispatcher(
  createDispatcher<Claim, Result>({
    name: "mail-dispatch",
    maxConcurrent: maxConnections,
    reportAndClaim,
    send: sender.send,
    outcomeOf: ({ outcome }) => outcome,
    pausedMs: sender.pausedMs,
    onIdle: sender.close,
  }),
  // The embedded stack runs both in one process; hosted, auth-mail is a function of its own.
  { "/auth-mail": createAuthMail(), "/mail-dispatch/reports": receiveReport },
);
