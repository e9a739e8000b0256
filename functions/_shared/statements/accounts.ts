import type { StopLink } from "../callers/mail-links.ts";
import type { Statement } from "../database/run.ts";

// Accounts of auth, for the pages that sign in and confirm.

/** The account that the link of a mail confirms or signs in; change: of its address. No row if the token is unknown. */
export type AccountOfLink = {
  name: string | null;
  email: string;
  kind: "unconfirmed" | "confirmed" | "change";
};

export function accountOfLink(tokenHash: string): Statement<AccountOfLink> {
  return (sql) => sql`select name, email, kind from private.account_of_link(${tokenHash})`;
}

/** Deletes the unconfirmed account, or keeps the address that a change would replace. null: there is nothing to reject. */
export function rejectLink(tokenHash: string): Statement<{ outcome: "deleted" | "kept" | null }> {
  return (sql) => sql`select private.reject_link(${tokenHash}) as outcome`;
}

/** Whether the caller has just confirmed an account that has no password. */
export function needsPassword(): Statement<{ needed: boolean }> {
  return (sql) => sql`select private.needs_password() as needed`;
}

/** Counts a request for an unconfirmed account that auth refused, since it had just sent a mail. */
export function countUnconfirmedRequest(email: string): Statement {
  return (sql) => sql`select private.count_unconfirmed_request(${email})`;
}

/** Whether the owner of a mailbox stopped mail about accounts that others make. */
export function accountMailIsStopped(mailboxHash: string): Statement<{ stopped: boolean }> {
  return (sql) => sql`select private.account_mail_is_stopped(${mailboxHash}) as stopped`;
}

/** Stops such mail and rejects the account that it was about, or sends it again. */
export function stopAccountMail({ mailboxHash, accountId }: StopLink, stopped: boolean): Statement {
  return (sql) => sql`select private.stop_account_mail(${mailboxHash}, ${accountId}, ${stopped})`;
}

/** The address that a link restores; null if it is unknown, used or expired. */
export function addressOfUndo(linkHash: Uint8Array): Statement<{ email: string | null }> {
  return (sql) => sql`select private.address_of_undo(${linkHash}) as email`;
}

/** Undoes a change of address or password. taken: another account has the address. */
export function undoAccountChange(linkHash: Uint8Array): Statement<{ outcome: "undone" | "taken" | null }> {
  return (sql) => sql`select private.undo_account_change(${linkHash}) as outcome`;
}
