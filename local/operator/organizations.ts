import { randomBytes } from "node:crypto";
import type { Runner } from "../postgres/database.ts";
import { StartError } from "../processes/start-error.ts";
import { createAccount } from "./create-account.ts";

/** Auth, to create accounts; without the two, owners must have one. */
export interface AuthAdmin {
  supabaseUrl: string | undefined;
  secretKey: string | undefined;
}

interface NewOrganization {
  name: string;
  slug: string;
  ownerEmail: string;
  ownerPassword?: string | undefined;
  visibility?: "public" | "private";
}

/** Creates an organization, and its owner's account where there is none; returns its id. */
export async function makeOrganization(
  sql: Runner,
  auth: AuthAdmin,
  { name, slug, ownerEmail, ownerPassword, visibility = "public" }: NewOrganization,
  say: (line: string) => void,
): Promise<string> {
  const owner = await ensureUser(sql, auth, ownerEmail, ownerPassword);
  const account = owner.existed ? `  (existing account ${owner.name ?? owner.id}, password unchanged)` : "";
  say(`owner        ${ownerEmail}${account}`);
  // At once: after an interruption the account exists, and nobody knows its password.
  if (owner.password !== null) say(`password     ${owner.password}  (shown this once)`);
  const [organization] = await sql<{ id: string }[]>`
    select private.create_organization(${name}, ${slug}, ${visibility}, ${owner.id}) as id`;
  say(`organization ${slug}  ${organization?.id}`);
  return organization?.id ?? "";
}

interface Owner {
  id: string;
  name?: string | null;
  existed: boolean;
  /** Generated for a new account. */
  password: string | null;
}

/** An account of which the address is confirmed, or a new one. An existing account keeps its password. */
async function ensureUser(sql: Runner, auth: AuthAdmin, email: string, requested: string | undefined): Promise<Owner> {
  const known = await accountsOf(sql, email);
  const confirmed = known.filter(({ is_confirmed }) => is_confirmed);
  if (confirmed.length > 1)
    throw new StartError(
      `${confirmed.length} accounts sign in as ${email} (${confirmed.map(({ id }) => id).join(", ")}): delete or change all but the owner's`,
    );
  const [account] = confirmed;
  if (account) {
    if (requested === undefined) return { ...account, existed: true, password: null };
    throw new StartError(
      `${email} has signed up already, so --owner-password cannot be set: make sure the account is the owner's and leave it out`,
    );
  }
  if (known.length > 0)
    throw new StartError(
      `somebody signed up as ${email} and has not confirmed the address: let the owner sign in by email first, which confirms it`,
    );
  const password = requested ?? randomBytes(12).toString("base64url");
  if (auth.supabaseUrl === undefined || !auth.secretKey) {
    throw new StartError(
      `no user signs in as ${email}: invite them in the dashboard first, or set SUPABASE_URL and SUPABASE_SECRET_KEY to create the account`,
    );
  }
  const id = await createAccount({ url: auth.supabaseUrl, secretKey: auth.secretKey }, { email, password });
  if (!id) throw new StartError(`the auth service did not create ${email}: it has an account with this address`);
  return { id, existed: false, password: requested === undefined ? password : null };
}

const accountsOf = (sql: Runner, email: string) =>
  sql<{ id: string; name: string | null; is_confirmed: boolean }[]>`
    select u.id, p.name, u.email_confirmed_at is not null as is_confirmed
    from auth.users u left join public.profiles p on p.auth_user_id = u.id
    where lower(u.email) = lower(${email}) and u.deleted_at is null order by u.created_at`;
