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
  user: { email: string; new_email?: string | undefined; user_metadata: object };
  email_data: {
    email_action_type: string;
    token: string;
    token_hash: string;
    token_new?: string | undefined;
    token_hash_new?: string | undefined;
  };
}

/** Mails to one address. */
const maxPerHour = 10;
const maxWaiting = 1000;
const delaysMs = [1_000, 5_000, 30_000, 120_000, 300_000];
const maxCallMs = 110_000;
const hourMs = 3_600_000;

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

  const sent = new Map<string, number[]>();
  const isBelowLimit = (address: string) => {
    const now = Date.now();
    for (const [known, times] of sent) if ((times.at(-1) ?? 0) < now - hourMs) sent.delete(known);
    const times = (sent.get(address) ?? []).filter((at) => at > now - hourMs);
    if (times.length >= maxPerHour) return false;
    sent.set(address, [...times, now]);
    return true;
  };

  return (mail: HookMail): void => {
    if (!isBelowLimit((mail.user.new_email ?? mail.user.email).toLowerCase())) return;
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
