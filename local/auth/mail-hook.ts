import { createHmac, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

/** The Send Email hook of auth, as on hosted Supabase: functions/auth-mail renders and sends the mails. */
export interface MailHookOptions {
  url: string;
  /** whsec_… */
  secret: string;
}

/** The body of a Send Email hook request. */
export interface HookMail {
  /** Of one change among equal ones. */
  id?: string;
  user: { id?: string | undefined; email: string; new_email?: string | undefined; user_metadata: object };
  email_data: {
    email_action_type: string;
    token: string;
    token_hash: string;
    token_new?: string | undefined;
    token_hash_new?: string | undefined;
    old_email?: string | undefined;
  };
  /** Keyed hash of the address of whoever asked for the mail. */
  client?: string | undefined;
}

/** Names the client to lite's middleware; the guard sets it. */
export const clientHeader = "x-mail-client";

const maxWaiting = 1000;
const delaysMs = [1_000, 5_000, 30_000, 120_000, 300_000];
const maxCallMs = 110_000;

/** Calls the hook in the background: its duration would reveal whether an account exists. */
export function mailHook({ url, secret }: MailHookOptions, onWarning: (message: string) => void) {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  let waiting = 0;

  const call = async (body: string): Promise<number> => {
    const id = `msg_${randomUUID()}`;
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": timestamp,
        "webhook-signature": `v1,${signature}`,
      },
      body,
      signal: AbortSignal.timeout(maxCallMs),
    });
    await response.body?.cancel();
    return response.status;
  };

  const deliver = async (body: string) => {
    for (const delay of [...delaysMs, null]) {
      const status = await call(body).catch(() => 503);
      if (status < 300) return;
      if (status < 500 || delay === null) return onWarning(`auth: a mail was not sent (${status})`);
      await sleep(delay, undefined, { ref: false });
    }
  };

  return (mail: HookMail): void => {
    if (waiting >= maxWaiting) {
      onWarning("auth: too many mails are queued; one was not sent");
      return;
    }
    waiting++;
    deliver(JSON.stringify(mail)).finally(() => {
      waiting--;
    });
  };
}
