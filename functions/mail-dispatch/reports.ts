import { z } from "zod";
import { signedWebhook } from "../_shared/dispatch/signed-webhook.ts";
import { environment } from "../_shared/runtime/environment.ts";
import { recordReport } from "./database.ts";

const report = z.object({
  type: z.string(),
  data: z.object({
    to: z.array(z.string().max(320)).max(50),
    bounce: z.object({ type: z.string().optional() }).nullish(),
  }),
});

/** Webhooks of the mail provider, in Resend's form: a complaint, or a bounce for good, stops mail to an address. */
export const receiveReport = signedWebhook(environment.mailWebhookSecret, async (body) => {
  const parsed = report.safeParse(body);
  const reason = parsed.success && reasonOf(parsed.data);
  if (parsed.success && reason) for (const address of parsed.data.data.to) await recordReport(address, reason);
  return Response.json({ data: { recorded: Boolean(reason) }, meta: {} });
});

function reasonOf({ type, data }: z.infer<typeof report>) {
  if (type === "email.complained") return "complained";
  // Other reports, such as a full mailbox, are ignored.
  return type === "email.bounced" && data.bounce?.type === "Permanent" ? "bounced" : undefined;
}
