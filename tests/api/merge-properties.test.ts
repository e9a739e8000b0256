import type { TransactionSql } from "postgres";
import { describe, it } from "vitest";
import fc from "../fuzz.ts";
import { sql } from "../stack.ts";
import { newOrganization, newUser, newUsers } from "./world.ts";

const boards = 5;
const people = 4;
const organization = await newOrganization();
const admin = await newUser("Adam", { organization, role: "admin" });
const users = await newUsers(people);

const submission = fc.nat({ max: boards - 1 });
const person = fc.nat({ max: people - 1 });
const anything = fc.nat({ max: 99 });
type Step =
  | { act: "vote" | "unvote" | "follow" | "unfollow"; person: number; on: number }
  | { act: "comment"; person: number; on: number; under: number }
  | { act: "uncomment"; which: number }
  | { act: "tag" | "untag"; on: number; which: number }
  | { act: "approve" | "reject"; on: number }
  | { act: "merge"; sources: number[]; on: number }
  | { act: "unmerge" | "delete"; on: number };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ act: fc.constantFrom("vote", "unvote", "follow", "unfollow"), person, on: submission }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant("comment"), person, on: submission, under: anything }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("uncomment"), which: anything }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constantFrom("tag", "untag"), on: submission, which: anything }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constantFrom("approve", "reject"), on: submission }) },
  {
    weight: 4,
    arbitrary: fc.record({
      act: fc.constant("merge"),
      sources: fc.uniqueArray(submission, { minLength: 1, maxLength: 3 }),
      on: submission,
    }),
  },
  { weight: 3, arbitrary: fc.record({ act: fc.constant("unmerge"), on: submission }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("delete"), on: submission }) },
) as fc.Arbitrary<Step>;

/**
 * Runs the steps in one statement, each in its own subtransaction, because many are rejected. After each merge and at
 * the end, the counts must be exact, and a reverted merge must restore every row. Returns the discrepancy, or null.
 */
const walk = `
create function pg_temp.board(organization uuid) returns jsonb language sql as $$
  select jsonb_build_array(
    (select jsonb_agg(jsonb_build_array(id, status, merged_into_id, vote_count, comment_count) order by id) from public.submissions where organization_id = organization),
    (select jsonb_agg(to_jsonb(v) order by submission_id, user_id) from public.votes v where organization_id = organization),
    (select jsonb_agg(to_jsonb(f) order by submission_id, user_id) from public.follows f where organization_id = organization),
    (select jsonb_agg(to_jsonb(t) order by submission_id, tag_id) from public.submission_tags t where organization_id = organization),
    (select jsonb_agg(to_jsonb(c) order by id) from public.comments c where organization_id = organization),
    (select jsonb_agg(to_jsonb(j) order by source_id, user_id) from private.merged_votes j where organization_id = organization))
$$;
create function pg_temp.mistakes(organization uuid) returns text language sql as $$
  select string_agg(what, ', ') from (
    select format('%s of %s is %s, not %s', subject, id, stored, truth) from private.count_discrepancies()
    -- Other tests write behind triggers in their organizations.
    where id = organization or id in (select c.id from public.submissions c where c.organization_id = organization
      union all select c.id from public.comments c where c.organization_id = organization)
    union all
    select format('a vote on %s, which is merged', v.submission_id) from public.votes v join public.submissions s on s.id = v.submission_id
    where s.organization_id = organization and s.merged_into_id is not null
    union all
    select format('a tag of %s, lent by what is not merged into it', t.submission_id) from public.submission_tags t join public.submissions s on s.id = t.merged_from
    where t.organization_id = organization and s.merged_into_id is distinct from t.submission_id
    union all
    select format('%s is two hops from its target', s.id) from public.submissions s join public.submissions t on t.id = s.merged_into_id
    where s.organization_id = organization and t.merged_into_id is not null) found (what)
$$;
create function pg_temp.act(step jsonb, ids uuid[], people uuid[]) returns void language plpgsql as $$
declare target uuid := ids[(step ->> 'on')::integer + 1]; who uuid := people[(step ->> 'person')::integer + 1]; comment uuid; tag uuid;
begin
  select t.id into tag from public.tags t join public.submissions s using (organization_id) where s.id = target order by t.slug offset (step ->> 'which')::integer % 2 limit 1;
  select c.id into comment from public.comments c where c.submission_id = any (case when step ->> 'act' = 'uncomment' then ids else array[target] end)
  order by c.id offset coalesce(step ->> 'under', step ->> 'which')::integer % 3 limit 1;
  case step ->> 'act'
    when 'vote' then insert into public.votes (submission_id, user_id) values (target, who) on conflict do nothing;
    when 'unvote' then delete from public.votes where submission_id = target and user_id = who;
    when 'follow' then insert into public.follows (submission_id, user_id) values (target, who) on conflict do nothing;
    when 'unfollow' then delete from public.follows where submission_id = target and user_id = who;
    when 'comment' then insert into public.comments (submission_id, author_id, parent_id, body) values (target, who, comment, 'A comment');
    when 'uncomment' then delete from public.comments where id = comment;
    when 'tag' then insert into public.submission_tags (organization_id, submission_id, tag_id)
      select t.organization_id, s.id, t.id from public.tags t join public.submissions s using (organization_id) where t.id = tag and s.id = target on conflict do nothing;
    when 'untag' then delete from public.submission_tags where submission_id = target and tag_id = tag;
    when 'approve', 'reject' then perform private.admin_moderate('submission', target, step ->> 'act', null, null);
    when 'merge' then perform private.admin_merge(array(select ids[s::integer + 1] from jsonb_array_elements_text(step -> 'sources') s), target);
    when 'unmerge' then perform private.admin_unmerge(target);
    when 'delete' then delete from public.submissions where id = target;
  end case;
  set constraints all immediate;
  set constraints all deferred;
end
$$;
create function pg_temp.walk(steps jsonb, organization uuid, ids uuid[], people uuid[]) returns text language plpgsql as $$
declare step jsonb; before jsonb; source text; wrong text;
begin
  for step in select * from jsonb_array_elements(steps) loop
    begin
      before := pg_temp.board(organization);
      perform pg_temp.act(step, ids, people);
      if step ->> 'act' = 'merge' then
        wrong := pg_temp.mistakes(organization);
        begin
          for source in select s from jsonb_array_elements_text(step -> 'sources') with ordinality as s (s, place) order by place desc loop
            perform pg_temp.act(jsonb_build_object('act', 'unmerge', 'on', source), ids, people);
          end loop;
          wrong := coalesce(wrong, case when pg_temp.board(organization) <> before then 'not as before the merge' end, pg_temp.mistakes(organization));
          raise exception using errcode = 'TT000';
        exception when sqlstate 'TT000' then null;
        end;
      end if;
      if wrong is not null then return format('after %s: %s', step, wrong); end if;
    exception when others then
      -- A refusal of ours changes nothing; anything else is a mistake.
      if sqlstate not like 'FB%' then return format('at %s: %s %s', step, sqlstate, sqlerrm); end if;
    end;
  end loop;
  return pg_temp.mistakes(organization);
end
$$`;

async function newBoard(transaction: TransactionSql): Promise<string[]> {
  const rows = await transaction<{ id: string }[]>`
    insert into public.submissions (organization_id, author_id, title, description, type)
    select ${organization.id}, author, 'A submission', 'A description that is long enough.', 'idea'
    from unnest(${Array.from({ length: boards }, (_, n) => users[n % people]?.id ?? "")}::uuid[]) author
    returning id`;
  await transaction`
    with labels as (insert into public.tags (organization_id, name, slug) values (${organization.id}, 'a', 'a'), (${organization.id}, 'b', 'b') returning id),
      numbered as (select id, row_number() over () as n from labels)
    insert into public.submission_tags (organization_id, submission_id, tag_id)
    select ${organization.id}, s.id, t.id from unnest(${rows.map(({ id }) => id)}::uuid[]) with ordinality as s (id, n) join numbered t on t.n = 1 or s.n % 2 = 0`;
  return rows.map(({ id }) => id);
}

class Undone extends Error {}

describe("any sequence of votes, follows, comments, tags, decisions, merges, unmerges and deletes", () => {
  it("leaves exact counts, and each merge can be reverted row by row", async () => {
    await sql
      .begin(async (transaction) => {
        await transaction.unsafe(walk);
        await fc.assert(
          fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 30 }), async (steps) => {
            await transaction
              .savepoint(async (attempt) => {
                const ids = await newBoard(attempt);
                await attempt`select set_config('request.jwt.claims', ${JSON.stringify({ sub: admin.id, role: "authenticated" })}, true)`;
                const [outcome] = await attempt<{ wrong: string | null }[]>`
                  select pg_temp.walk(${attempt.json(steps)}, ${organization.id}, ${ids}::uuid[], ${users.map(({ id }) => id)}::uuid[]) as wrong`;
                if (outcome?.wrong) throw new Error(outcome.wrong);
                throw new Undone();
              })
              .catch((error: unknown) => {
                if (!(error instanceof Undone)) throw error;
              });
          }),
          { numRuns: 40, interruptAfterTimeLimit: 6_000 },
        );
        throw new Undone();
      })
      .catch((error: unknown) => {
        if (!(error instanceof Undone)) throw error;
      });
  });
});
