import { canSign, signStopLink, signUndoLink, undoHash } from "../_shared/callers/mail-links.ts";
import { dispatchDatabase } from "../_shared/dispatch/database.ts";
import { environment } from "../_shared/runtime/environment.ts";
import { logWarning } from "../_shared/runtime/log.ts";
import type { AuthMail, MailLinks } from "./write-auth-mail.tsx";

const query = environment.mailDatabaseUrl
  ? dispatchDatabase("MAIL_DATABASE_URL", environment.mailDatabaseUrl, "feedback_mail")
  : undefined;
if (!query)
  logWarning(
    "auth-mail: MAIL_DATABASE_URL is not set: mails to strangers have no bounds, and no link undoes a change (docs/mail.md)",
  );

type Admission = { is_admitted: boolean; stop_hash: string | null; percent_used: number | null };

/** Counts a mail with a code or link; undefined if the limit is reached, or the recipient has stopped such mail. */
export async function admit(mail: AuthMail, client: string | null): Promise<MailLinks | undefined> {
  if (!query) return {};
  const [admission] = await query<Admission>(
    (sql) => sql<Admission[]>`select * from private.admit_account_mail(${mail.to}, ${client}, ${mail.accountId})`,
  );
  const { is_admitted = false, stop_hash, percent_used } = admission ?? {};
  if (percent_used)
    logWarning(
      `auth-mail: ${percent_used} % of the mails with codes and links are counted that the rule account_mail_everyone allows.`,
    );
  if (!is_admitted) return undefined;
  if (!stop_hash || !canSign) return {};
  const token = signStopLink({ mailboxHash: stop_hash, accountId: mail.accountId }, new Date());
  return { stop: `${environment.siteUrl}/unsubscribe/accounts?token=${token}` };
}

const undoable = new Set(["email_changed_notification", "password_changed_notification"]);

/** The links of a notice. */
export async function linksOfNotice(mail: AuthMail): Promise<MailLinks> {
  if (!query || !canSign || !mail.accountId || !undoable.has(mail.kind)) return {};
  const name = crypto.randomUUID();
  const [opened] = await query<{ done: boolean }>(
    (sql) => sql<{ done: boolean }[]>`
      select private.open_account_undo(${mail.accountId}, ${mail.to}, ${undoHash(name)}) as done`,
  );
  return opened?.done ? { undo: `${environment.siteUrl}/auth/undo?token=${signUndoLink(name, new Date())}` } : {};
}
