import { createHash } from "node:crypto";
import { z } from "zod";
import { isEmailAddress } from "../../shared/fields.ts";
import { readClient } from "../_shared/callers/mail-links.ts";
import { signedWebhook } from "../_shared/dispatch/signed-webhook.ts";
import { invalid } from "../_shared/http/api-error.ts";
import { environment } from "../_shared/runtime/environment.ts";
import { logWarning } from "../_shared/runtime/log.ts";
import { openTransport } from "../mail-dispatch/transport.ts";
import { admit, linksOfNotice } from "./account-mail.ts";
import { sendLater } from "./send-later.ts";
import { type AuthMail, type CodeKind, codeKinds, noticeKinds, writeAuthMail } from "./write-auth-mail.tsx";

const text = z.string().max(2000).nullish();
/** Accepts only addresses that all mail programs read the same way; auth accepts more. */
const address = z.string().refine(isEmailAddress).optional().catch(undefined);
const word = z
  .string()
  .regex(/^[\w:.-]{1,40}$/)
  .optional()
  .catch(undefined);
const hookBody = z.object({
  user: z.object({
    id: z.uuid().optional().catch(undefined),
    email: address,
    new_email: address,
    user_metadata: z.object({ locale: z.unknown() }).catch({ locale: undefined }),
  }),
  email_data: z.object({
    email_action_type: z.string().max(100),
    token: text,
    token_hash: text,
    token_new: text,
    token_hash_new: text,
    redirect_to: z.string().max(20_000).nullish().catch(undefined),
    old_email: address,
    provider: word,
    factor_type: word,
  }),
  /** From the embedded auth: a keyed hash of the network address from which the mail was requested. */
  client: z.string().max(100).optional(),
});

/** Auth's Send Email hook: writes mails in the language of their recipient, and sends them after the response. */
export function createAuthMail(): (request: Request) => Promise<Response> {
  if (!environment.authMailSecret) return signedWebhook(undefined, () => Promise.reject());
  const { transport, from } = openTransport();
  const send = sendLater(transport);
  return signedWebhook(environment.authMailSecret, async (body) => {
    const parsed = hookBody.safeParse(body);
    if (!parsed.success) throw invalid("body", "is not a call of auth's Send Email hook");
    const client = clientOf(parsed.data);
    for (const mail of mailsOf(parsed.data)) {
      const what = `${mail.kind} ${mail.to}`;
      // The same for a repeated call.
      const id = createHash("sha256")
        .update(`${what} ${JSON.stringify(body)}`)
        .digest("hex")
        .slice(0, 32);
      const isOfCode = mail.code !== "" || mail.tokenHash !== "";
      const write = async () => {
        const links = await (isOfCode ? admit(mail, client) : linksOfNotice(mail));
        return links && writeAuthMail(id, mail, links, from);
      };
      send({ id, what: isOfCode ? what : id, write });
    }
    return Response.json({});
  });
}

/** Identifies the client whose mails are counted together: a signed-in user or a network address. Null if unknown. */
function clientOf({ user: { id }, email_data, client }: z.infer<typeof hookBody>): string | null {
  const { email_action_type: action, redirect_to } = email_data;
  if (id && action.startsWith("email_change")) return id;
  const page = redirect_to && URL.canParse(redirect_to) ? new URL(redirect_to).searchParams : undefined;
  return client ?? readClient(page?.get("client") ?? "") ?? null;
}

function mailsOf({ user: { id, email, new_email, user_metadata }, email_data }: z.infer<typeof hookBody>): AuthMail[] {
  const { email_action_type: action, token, token_hash, token_new, token_hash_new } = email_data;
  const { redirect_to } = email_data;
  // A longer URL is dropped, and the link leads to the board.
  const redirectTo = redirect_to && redirect_to.length <= 2000 ? redirect_to : "";
  const common = { accountId: id ?? null, redirectTo, locale: user_metadata.locale };
  const withCode = (kind: CodeKind, to = email, code = token, tokenHash = token_hash): AuthMail => {
    // A person is waiting for the mail, so auth must not report that it was sent.
    if (!to || !(code || tokenHash)) throw invalid("body", "must have an address and a code");
    const about = kind === "email_change_current" ? new_email : undefined;
    return { ...common, kind, to, code: code ?? "", tokenHash: tokenHash ?? "", about };
  };
  // If both addresses must confirm a change, token_hash belongs to the new address and token_hash_new to the present
  // one.
  const ofNew = () => withCode("email_change", new_email ?? "", token_new || token, token_hash);
  const ofCurrent = () => withCode("email_change_current", email, token, token_hash_new || token_hash);
  if (action === "email_change") return token_hash_new ? [ofNew(), ofCurrent()] : [ofNew()];
  if (action === "email_change_new") return [ofNew()];
  if (action === "email_change_current") return [ofCurrent()];
  const kind = action === "email" ? "magiclink" : codeKinds.find((known) => known === action);
  if (kind) return [withCode(kind)];

  const notice = noticeKinds.find((known) => known === action);
  if (!notice && (token || token_hash)) throw invalid("email_action_type", "is not known");
  const isOfAddress = notice === "email_changed_notification";
  const to = isOfAddress ? email_data.old_email : email;
  const about = isOfAddress ? email : (email_data.provider ?? email_data.factor_type);
  if (notice && to) return [{ ...common, kind: notice, to, code: "", tokenHash: "", about }];
  logWarning(`auth-mail: There is no mail or no address for "${action}"; nothing was sent.`);
  return [];
}
