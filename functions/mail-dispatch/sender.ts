import { log } from "../_shared/runtime/log.ts";
import type { Claim, Outcome, Result } from "./database.ts";
import { openTransport } from "./transport.ts";
import { writeMail } from "./write-mail.tsx";

const maxPauseMs = 60_000;

/** Writes mails and hands them to the transport that MAIL_URL names. */
export function createSender() {
  const { transport, from } = openTransport();
  let pausedUntil = 0;
  let failures = 0;

  /** Pauses sending while the server accepts no mail, so that mails do not wait for it one by one. */
  const pauseAfter = ({ outcome, retry_after = 0 }: Outcome) => {
    failures = outcome === "unavailable" ? failures + 1 : 0;
    if (outcome !== "unavailable") return;
    const ms = Math.max(retry_after * 1000, Math.min(500 * 2 ** Math.min(failures, 10), maxPauseMs));
    pausedUntil = Math.max(pausedUntil, performance.now() + ms);
  };

  return {
    /** Never throws. */
    async send(claim: Claim): Promise<Result> {
      const { id, attempt, address } = claim;
      try {
        // A mail to the sender's own address could start a loop.
        if (address.toLowerCase() === from.toLowerCase())
          return { id, attempt, outcome: "failed", error: "This is the address that emails come from." };
        const outcome = await transport.send(writeMail(claim, from));
        pauseAfter(outcome);
        return { id, attempt, ...outcome };
      } catch (error) {
        log({ requestId: id, error });
        return { id, attempt, outcome: "retry", error: "The email could not be written." };
      }
    },
    pausedMs: () => pausedUntil - performance.now(),
    close: () => transport.close(),
  };
}
