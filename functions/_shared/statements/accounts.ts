import type { StopLink } from "../callers/mail-links.ts";
import type { Statement } from "../database/run.ts";
import { call, read } from "./shapes.ts";

// Accounts of auth, for the pages that sign in and confirm.

/** The account that the link of a mail confirms or signs in; change: of its address. No row if the token is unknown. */
export type AccountOfLink = { name: string | null; email: string; kind: "unconfirmed" | "confirmed" | "change" };

export function accountOfLink(tokenHash: string): Statement<AccountOfLink> {
  return (sql) => sql`select name, email, kind from private.account_of_link(${tokenHash})`;
}

/** Deletes the unconfirmed account, or keeps the address that a change would replace. null: there is nothing to reject. */
export const rejectLink = (tokenHash: string) => read<"deleted" | "kept" | null>("reject_link", tokenHash);

/** Whether the caller has just confirmed an account that has no password. */
export const needsPassword = () => read<boolean>("needs_password");

/** Counts a request for an unconfirmed account that auth refused, since it had just sent a mail. */
export const countUnconfirmedRequest = (email: string) => call("count_unconfirmed_request", email);

/** Whether the owner of a mailbox stopped mail about accounts that others make. */
export const accountMailIsStopped = (mailboxHash: string) => read<boolean>("account_mail_is_stopped", mailboxHash);

/** Stops such mail and rejects the account that it was about, or sends it again. */
export const stopAccountMail = ({ mailboxHash, accountId }: StopLink, stopped: boolean) =>
  call("stop_account_mail", mailboxHash, accountId, stopped);

/** The address that a link restores; null if it is unknown, used or expired. */
export const addressOfUndo = (linkHash: Uint8Array) => read<string | null>("address_of_undo", linkHash);

/** Undoes a change of address or password. taken: another account has the address. */
export const undoAccountChange = (linkHash: Uint8Array) =>
  read<"undone" | "taken" | null>("undo_account_change", linkHash);
