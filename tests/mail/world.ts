import { randomUUID } from "node:crypto";
import type { OwnStack, Person } from "../own-stack.ts";
import { until } from "../until.ts";

/** People and feedback of a stack that sends mail. */
export function mailWorld(stack: OwnStack) {
  const { sql, organization } = stack;

  /** Somebody who signed up and confirmed the address. */
  async function confirmed(count = 1, role?: "owner" | "admin" | "member"): Promise<Person[]> {
    const people = await stack.people(count, role);
    await sql`update auth.users set email_confirmed_at = now() where id = any (${people.map(({ id }) => id)})`;
    return people;
  }

  /** Somebody known only by an address that a key sent. */
  async function author(email = `${randomUUID()}@author.example`): Promise<{ id: string; email: string }> {
    const [made] = await sql<{ id: string }[]>`
      insert into public.profiles (kind, organization_id, email, name)
      values ('email', ${organization.id}, ${email}, 'Grace') returning id`;
    return { id: made?.id ?? "", email };
  }

  const enable = (id = organization.id) => sql`update public.organizations set mail_enabled = true where id = ${id}`;

  async function submit(by: { id: string }, title = "Offline job sheets"): Promise<string> {
    const [made] = await sql<{ id: string }[]>`
      insert into public.submissions (organization_id, author_id, title, description, type)
      values (${organization.id}, ${by.id}, ${title}, 'A description that is long enough.', 'idea') returning id`;
    return made?.id ?? "";
  }

  const follow = (id: string, people: { id: string }[]) =>
    sql`insert into public.follows ${sql(people.map(({ id: user_id }) => ({ organization_id: organization.id, submission_id: id, user_id, reason: "manual" })))}`;

  const changeStatus = (id: string, new_status: string, note: string | null = null, by?: { id: string }) =>
    sql`insert into public.status_changes ${sql({ organization_id: organization.id, submission_id: id, new_status, note, changed_by: by?.id ?? null })}`;

  async function comment(id: string, by: { id: string }, body = "A comment", parent?: string): Promise<string> {
    const [made] = await sql<{ id: string }[]>`
      insert into public.comments ${sql({ organization_id: organization.id, submission_id: id, author_id: by.id, body, parent_id: parent ?? null })} returning id`;
    return made?.id ?? "";
  }

  const choose = (person: { id: string }, kind: string, choice: string) =>
    sql`insert into private.mail_choices ${sql({ organization_id: organization.id, profile_id: person.id, kind, choice })}
      on conflict (organization_id, profile_id, kind) do update set choice = excluded.choice`;

  /** The queued mails to somebody. */
  const queued = (person: { id: string }) =>
    sql<{ id: string; kind: string; status: string; attempt_count: number; last_error: string | null }[]>`
      select id, kind, status, attempt_count, last_error from private.mails where profile_id = ${person.id} order by created_at, id`;

  /** Waits until no mail is due or being sent. */
  const drained = () =>
    until(async () => {
      const [left] = await sql`
        select from private.mails where status = 'sending' or status = 'pending' and next_attempt_at <= now() limit 1`;
      return left ? undefined : true;
    });

  /** Makes mails that wait for a retry due now. */
  async function retryNow(): Promise<void> {
    await sql`update private.mails set next_attempt_at = now() where status = 'pending'`;
    await sql`select pg_notify('mails', '')`;
  }

  /** Makes digests that wait for the morning due now. */
  async function digestNow(): Promise<void> {
    await sql`update private.mail_items set due_at = now()`;
    await sql`select private.gather_digests()`;
  }

  return {
    stack,
    sql,
    organization,
    confirmed,
    author,
    enable,
    submit,
    follow,
    changeStatus,
    comment,
    choose,
    queued,
    drained,
    retryNow,
    digestNow,
  };
}
