import { expect, it } from "vitest";
import type { ErrorEnvelope } from "../../shared/errors.ts";
import { api, sql } from "../stack.ts";
import { done, idea, newcomer, type Person, submit } from "./web-app.ts";

const [ada, ben, cleo] = await Promise.all([newcomer("Ada"), newcomer("Ben"), newcomer("Cleo")]);

/** The same request by supabase-js and to the API; `made` is the id that the first request returned. */
type Step = (
  id: string,
  made: string,
) => [by: Person, name: string, args: object, method: string, path: string, body?: object];

const at = (id: string, rest = "") => `/api/submissions/${id}${rest}`;
const vote: Step = (submission_id) => [ben, "vote", { submission_id }, "POST", at(submission_id, "/vote")];
const unvote: Step = (id) => [ben, "unvote", { submission_id: id }, "DELETE", at(id, "/vote")];
const comment: Step = (submission_id) => {
  const said = { body: "First." };
  return [ben, "create_comment", { ...said, submission_id }, "POST", at(submission_id, "/comments"), said];
};
const reply: Step = (submission_id, parent_id) => {
  const said = { body: "Second.", parent_id };
  return [cleo, "create_comment", { ...said, submission_id }, "POST", at(submission_id, "/comments"), said];
};
const unsay: Step = (_, id) => [ben, "delete_comment", { id }, "DELETE", `/api/comments/${id}`];
const unfollow: Step = (id) => [ada, "unfollow", { submission_id: id }, "DELETE", at(id, "/follow")];
const follow: Step = (id) => [cleo, "follow", { submission_id: id }, "POST", at(id, "/follow")];
const edit =
  (changes: object): Step =>
  (id) => [ada, "update_submission", { id, changes }, "PATCH", at(id), changes];

const direct = (...[by, name, args]: ReturnType<Step>) => by.app.rpc(name, args);
const throughApi = (...[{ token }, , , method, path, body]: ReturnType<Step>) =>
  api<{ data?: { id: string } } & ErrorEnvelope>(path, { method, token, body });

/** The rows of a submission, without ids, times and other generated values. */
const traces = (id: string) => sql`
  select vote_count, comment_count, status, title !~ '^An idea' as is_edited,
    array(select user_id from votes v where v.submission_id = s.id order by 1) as votes,
    array(select user_id || reason from follows f where f.submission_id = s.id order by 1) as follows,
    array(select user_id || type from notifications n where n.submission_id = s.id order by 1) as notifications,
    array(select concat_ws(' ', author_id, body, is_official, reply_count) from comments c where c.submission_id = s.id order by 1) as comments,
    array(select type from private.outbox o where o.subject_id = s.id order by xid, id) as events
  from submissions s where s.id = ${id}`;

it.each<[string, Step[]]>([
  ["a second vote", [vote, vote]],
  ["a vote taken back", [vote, unvote]],
  ["a comment and a reply", [comment, reply]],
  ["a deleted thread", [comment, reply, unsay]],
  ["a follow ended and begun", [unfollow, follow]],
  ["an edit", [edit({ title: "A title that is edited" })]],
])("supabase-js and the API write the same rows: %s", async (_, steps) => {
  const one = await submit(ada);
  const created = await api<{ data: { id: string } }>("/api/submissions", { token: ada.token, body: idea() });
  const other = created.body.data.id;
  let [made, madeByApi] = ["", ""];
  for (const step of steps) {
    const result = done(await direct(...step(one, made)));
    made ||= result;
    const { status, body } = await throughApi(...step(other, madeByApi));
    expect(status).toBeLessThan(300);
    madeByApi ||= body?.data?.id ?? "";
  }
  const rows = await traces(one);
  expect(rows).toEqual(await traces(other));
  expect(rows[0]?.events.length).toBeGreaterThan(0);
});
