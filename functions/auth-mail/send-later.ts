import { countOutcome } from "../_shared/dispatch/outcomes.ts";
import { environment } from "../_shared/runtime/environment.ts";
import { keepAlive } from "../_shared/runtime/keep-alive.ts";
import { log, logWarning } from "../_shared/runtime/log.ts";
import type { Outcome } from "../mail-dispatch/database.ts";
import type { Message, Transport } from "../mail-dispatch/message.ts";

/** Before each attempt. A hosted worker lives for a few minutes; elsewhere a mail outlasts greylisting. */
const delaysMs = [0, 1_000, 5_000, 30_000, ...(environment.port ? [120_000, 300_000] : [])];
const maxWaiting = 1_000;
/** Auth repeats a call whose answer it did not get. */
const rememberedMs = 300_000;

/**
 * `what` identifies the purpose: a later mail with the same value, such as one with a newer code, replaces this one.
 * `write` asks the database, and returns undefined if no mail is to be sent.
 */
type Waiting = { id: string; what: string; write: () => Promise<Message | undefined> };

/** Sends each mail once, after the response: neither the time nor the failure of a mail may reveal an account. */
export function sendLater(transport: Transport): (mail: Waiting) => void {
  const known = new Set<string>();
  const newest = new Map<string, string>();
  let waiting = 0;

  const send = async ({ id, what, write }: Waiting) => {
    let message: Message | undefined;
    const attempt = async (): Promise<Outcome> => {
      message ??= await write();
      return message ? transport.send(message) : { outcome: "sent" };
    };
    for (const [at, delay] of delaysMs.entries()) {
      await new Promise((resolve) => setTimeout(resolve, delay));
      if (at > 0 && newest.get(what) !== id) return;
      const { outcome, error } = await attempt().catch(
        (problem): Outcome => ({ outcome: "retry", error: String(problem) }),
      );
      if (message) countOutcome(outcome);
      if (outcome === "sent") return;
      const isOver = outcome === "failed" || outcome === "refused" || at === delaysMs.length - 1;
      // The transport tells once of a server that takes no mail.
      if (isOver || outcome !== "unavailable")
        logWarning(`auth-mail: ${error} ${isOver ? "The mail was not sent." : "It is tried again."}`);
      if (isOver) return;
    }
  };

  return (mail) => {
    const { id, what } = mail;
    if (known.has(id)) return;
    if (waiting >= maxWaiting) return logWarning("auth-mail: Too many mails wait; one was not sent.");
    known.add(id);
    newest.set(what, id);
    waiting++;
    const sending = send(mail).catch((error) => log({ requestId: "auth-mail", error }));
    keepAlive(
      sending.then(() => {
        if (newest.get(what) === id) newest.delete(what);
        setTimeout(() => known.delete(id), rememberedMs);
        if (--waiting === 0) transport.close();
      }),
    );
  };
}
