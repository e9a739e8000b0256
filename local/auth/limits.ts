import { createHmac } from "node:crypto";
import postgres from "postgres";

export type Action = "sign_in" | "sign_up" | "verify" | "code" | "mail" | "refresh" | "change";

/** The subject of a limit as stored; null if unknown. */
export interface Subject {
  address: string | null;
  account: string | null;
}

export interface Charge {
  allowed: boolean;
  retry_after: number | null;
  charged: string[];
  taken_at: string;
}

/** Access to the tables and functions of limits.sql. */
export interface Limits {
  hash(purpose: "address" | "account", value: string): string;
  /** The subject of attempts for an address: its mailbox. */
  accountOf(email: string): Promise<string>;
  take(action: Action, subject: Subject): Promise<Charge>;
  settle(action: Action, subject: Subject, charge: Charge, outcome: "succeeded" | "not_made"): Promise<void>;
  ownerOfRefreshToken(encrypted: string): Promise<string | null>;
  tryCode(email: string, kinds: readonly string[], stored: string): Promise<boolean>;
  close(): Promise<void>;
}

export function openLimits(url: string, hashKey: string): Limits {
  const sql = postgres(url, {
    max: 4,
    onnotice: () => undefined,
    connection: { application_name: "auth limits" },
    // As text, to keep microseconds.
    types: { timestamptz: { to: 1184, from: [1184], serialize: String, parse: String } },
  });
  const prune = setInterval(() => void sql`select auth_limits.prune()`.catch(() => undefined), 600_000);
  prune.unref();
  const hash: Limits["hash"] = (purpose, value) =>
    createHmac("sha256", hashKey).update(`auth ${purpose} ${value}`).digest("hex");
  return {
    hash,
    async accountOf(email) {
      const [row] = await sql<{ mailbox: string }[]>`select auth_limits.mailbox(${email}) as mailbox`;
      return hash("account", row?.mailbox ?? email);
    },
    async take(action, { address, account }) {
      const [charge] = await sql<Charge[]>`select * from auth_limits.take(${action}, ${address}, ${account})`;
      if (charge === undefined) throw new Error("auth_limits.take() answered nothing");
      return charge;
    },
    async settle(action, { address, account }, { charged, taken_at }, outcome) {
      await sql`select auth_limits.settle(${action}, ${address}, ${account}, ${charged}, ${taken_at}, ${outcome})`;
    },
    async ownerOfRefreshToken(encrypted) {
      const [row] = await sql<{ owner: string | null }[]>`
        select auth_limits.owner_of_refresh_token(${encrypted}) as owner`;
      return row?.owner ?? null;
    },
    async tryCode(email, kinds, stored) {
      const [row] = await sql<{ right: boolean }[]>`
        select auth_limits.try_code(${email}, ${[...kinds]}, ${stored}) as "right"`;
      return row?.right ?? false;
    },
    async close() {
      clearInterval(prune);
      await sql.end({ timeout: 5 });
    },
  };
}
