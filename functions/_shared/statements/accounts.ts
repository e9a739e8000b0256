import type { Statement } from "../database.ts";

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
