import { createHash } from "node:crypto";
import { z } from "zod";
import { invalid } from "../_shared/api-error.ts";
import { environment } from "../_shared/environment.ts";
import { log } from "../_shared/log.ts";
import { signedWebhook } from "../_shared/signed-webhook.ts";
import type { Outcome } from "../mail-dispatch/database.ts";
import { openTransport } from "../mail-dispatch/transport.ts";
import { type AuthMail, authMailKinds, writeAuthMail } from "./write-auth-mail.tsx";

const text = z.string().max(2000).optional();
/** One, whatever auth took for one. */
const address = z
  .string()
  .max(320)
  .regex(/^([^\s<>"@,;]+@[^\s<>"@,;]+)?$/)
  .optional();
const hookBody = z.object({
  user: z.object({
    email: address,
    new_email: address,
    user_metadata: z.object({ locale: z.unknown().optional() }).nullish(),
  }),
  email_data: z.object({
    email_action_type: z.string().max(100),
    token: text,
    token_hash: text,
    token_new: text,
    token_hash_new: text,
    redirect_to: text,
  }),
});

/** Hosted auth waits five seconds. */
const maxMs = "EdgeRuntime" in globalThis ? 4_500 : 100_000;
const late: Outcome = { outcome: "unavailable", error: "The mail server did not answer in time." };

/** Auth's Send Email hook: writes a mail in the language of its recipient and sends it at once. */
export function createAuthMail(): (request: Request) => Promise<Response> {
  if (!environment.authMailSecret) return signedWebhook(undefined, () => Promise.reject());
  const { transport, from } = openTransport();
  return signedWebhook(environment.authMailSecret, async (body) => {
    const parsed = hookBody.safeParse(body);
    if (!parsed.success) throw invalid("body", "is not that of auth's Send Email hook");
    const mails = mailsOf(parsed.data);
    const outcomes = await Promise.all(
      mails.map((mail) => Promise.race([transport.send(writeAuthMail(mail, from)), waited()])),
    );
    const failed = outcomes.find(({ outcome }) => outcome !== "sent");
    if (!failed) return Response.json({});
    log({ requestId: "auth-mail", error: new Error(failed.error) });
    const mayRepeat = failed.outcome === "retry" || failed.outcome === "unavailable";
    return Response.json(
      { error: { http_code: mayRepeat ? 503 : 422, message: "The mail could not be sent." } },
      { status: mayRepeat ? 503 : 422, headers: mayRepeat ? { "Retry-After": "1" } : {} },
    );
  });
}

function mailsOf({ user, email_data }: z.infer<typeof hookBody>): AuthMail[] {
  const { email_action_type, token, token_hash, token_new, token_hash_new, redirect_to } = email_data;
  const action = email_action_type === "email" ? "magiclink" : email_action_type;
  const kind = authMailKinds.find((known) => known === action);
  // A notice that we have no mail for: nothing waits for it.
  if (!kind) return [];
  const mail = (to: string | undefined, code: string | undefined, hash: string | undefined): AuthMail[] =>
    to && (code || hash)
      ? [
          {
            // The same for a repeated call.
            id: createHash("sha256").update(`${kind} ${to} ${hash} ${code}`).digest("hex").slice(0, 32),
            kind,
            to,
            code: code ?? "",
            tokenHash: kind === "reauthentication" ? "" : (hash ?? ""),
            redirectTo: redirect_to ?? "",
            locale: user.user_metadata?.locale,
          },
        ]
      : [];
  if (kind !== "email_change") return mail(user.email, token, token_hash);
  // token_hash belongs to the new address, token_hash_new to the present one, if both are asked.
  return [
    ...mail(user.new_email, token_new || token, token_hash),
    ...(token_hash_new ? mail(user.email, token, token_hash_new) : []),
  ];
}

const waited = () => new Promise<Outcome>((resolve) => setTimeout(resolve, maxMs, late));
