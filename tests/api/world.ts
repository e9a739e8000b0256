import { randomUUID } from "node:crypto";
import { createApiKey } from "../../local/operator/api-keys.ts";
import { newApiKey, orgKeyPrefix } from "../../shared/api-keys.ts";
import type { memberRoles } from "../../shared/organizations.ts";
import type { Scope } from "../../shared/scopes.ts";
import { manyUsers, type User as Somebody, sql, stack } from "../stack.ts";

export type Organization = { id: string; slug: string };
export type User = Somebody & { name: string };
export type Key = { id: string; profileId: string; token: string };
type Role = (typeof memberRoles)[number];
export type Membership = { organization: Organization; role: Role };

type OrganizationSettings = {
  visibility?: "public" | "private";
  max_submissions?: number;
  max_members?: number;
  max_surveys?: number;
  require_approval?: boolean;
};

export async function newOrganization(settings: OrganizationSettings = {}): Promise<Organization> {
  const slug = `o-${randomUUID()}`;
  const [created] = await sql<Organization[]>`
    insert into public.organizations ${sql({ slug, name: "Organization of a test", ...settings })} returning id, slug`;
  return only(created);
}

export type Team = {
  organization: Organization;
  /** The organization in the API. */
  path: string;
  owner: User;
  admin: User;
  member: User;
};

/** A new organization with a member of each role. */
export async function newTeam(settings: OrganizationSettings = {}): Promise<Team> {
  const organization = await newOrganization(settings);
  const [owner, admin, member] = await Promise.all(
    (["owner", "admin", "member"] as const).map((role) => newUser(`The ${role}`, { organization, role })),
  );
  return { organization, path: `/api/organizations/${organization.id}`, owner, admin, member } as Team;
}

/** A new user; a team member if a role is given. */
export async function newUser(name = "Ann Other", team?: Membership): Promise<User> {
  const user = only((await newUsers(1, name))[0]);
  if (team) await joinTeam(user.id, team.organization, team.role);
  return user;
}

/** A new user with a confirmed address, who may accept an invite. */
export async function newGuest(name?: string): Promise<User> {
  const user = await newUser(name);
  await sql`update auth.users set email_confirmed_at = now() where id = ${user.id}`;
  return user;
}

export async function newUsers(count: number, name = "Ann Other"): Promise<User[]> {
  const users = await manyUsers(count);
  await sql`update public.profiles set name = ${name} where id = any (${users.map(({ id }) => id)})`;
  return users.map((user) => ({ ...user, name }));
}

export async function joinTeam(userId: string, { id }: Organization, role: Role): Promise<void> {
  await sql`insert into public.memberships (organization_id, user_id, role) values (${id}, ${userId}, ${role})`;
}

export async function newKey(organization: Organization, scopes: readonly Scope[], expiresAt?: Date): Promise<Key> {
  const token = await createApiKey(sql, organization.id, "Key of a test", scopes, expiresAt);
  const [key] = await sql<{ id: string; profile_id: string }[]>`
    select id, profile_id from private.api_keys where organization_id = ${organization.id} order by created_at desc limit 1`;
  const { id, profile_id } = only(key);
  return { id, profileId: profile_id, token };
}

/** A secret with the format of a key that was never issued. */
export async function unknownKey(): Promise<{ token: string }> {
  return { token: (await newApiKey(orgKeyPrefix)).secret };
}

/** The picture that the pages make of a profile. */
export const figure = (profileId: string) => `${stack.site_url}/avatars/${profileId}.svg`;

export const longEnough = "A description that is long enough to be taken.";

type NewSubmission = {
  title?: string;
  description?: string;
  type?: "idea" | "problem";
  category_id?: string | null;
  created_at?: Date;
};

/** A submission created directly in the database, with its author's vote and follow. */
export async function newSubmission(
  organization: Organization,
  author: { id: string },
  fields: NewSubmission = {},
): Promise<string> {
  const row = { title: "A submission", description: longEnough, type: "idea", ...fields };
  const [created] = await sql<{ id: string }[]>`
    insert into public.submissions ${sql({ ...row, organization_id: organization.id, author_id: author.id })} returning id`;
  return only(created).id;
}

export async function newComment(
  submissionId: string,
  author: { id: string },
  fields: { body?: string; parent_id?: string; created_at?: Date } = {},
): Promise<string> {
  const [created] = await sql<{ id: string }[]>`
    insert into public.comments ${sql({ body: "A comment", ...fields, submission_id: submissionId, author_id: author.id })} returning id`;
  return only(created).id;
}

/** A merge by a key of the board. */
export async function merge(sourceId: string, targetId: string): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction`
      select set_config('feedback.organization_id', s.organization_id::text, true), set_config('feedback.scopes', 'submissions:moderate', true),
        set_config('role', 'service_key', true)
      from public.submissions s where s.id = ${sourceId}`;
    await transaction`select private.admin_merge(array[${sourceId}::uuid], ${targetId})`;
  });
}

export type Stored = Record<string, unknown>;

/** The row as stored; undefined if it does not exist. */
export async function stored(table: "submissions" | "comments" | "votes", id: string): Promise<Stored | undefined> {
  const [row] = await sql<Stored[]>`select * from public.${sql(table)} where id = ${id}`;
  return row;
}

/** Differences between counters and counted rows of one organization: other tests write behind triggers in theirs. */
export async function countMistakes(organization: Pick<Organization, "id">): Promise<unknown[]> {
  const mistakes = await sql`
    select m.* from private.count_discrepancies() m
    where m.id in (select ${organization.id}::uuid
      union all select id from public.submissions where organization_id = ${organization.id}
      union all select id from public.comments where organization_id = ${organization.id}
      union all select id from public.surveys where organization_id = ${organization.id}
      union all select id from public.survey_questions where organization_id = ${organization.id})`;
  return [...mistakes];
}

export function only<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("There is none.");
  return value;
}

/** The `updated_at` of a submission or comment, as a moderator reads it. */
export async function textOf(id: string): Promise<string | undefined> {
  const [row] = await sql<{ at: string }[]>`
    select to_json(updated_at) #>> '{}' as at from public.submissions where id = ${id}
    union all select to_json(updated_at) #>> '{}' from public.comments where id = ${id}`;
  return row?.at;
}
