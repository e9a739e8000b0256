import { describe, expect, it } from "vitest";
import { auditAnswer } from "../../shared/audit.ts";
import { mergedAnswer, unmergedAnswer } from "../../shared/moderation.ts";
import { notificationListAnswer } from "../../shared/notifications.ts";
import { deletedAnswer, submissionDetailAnswer } from "../../shared/submissions.ts";
import { myVoteListAnswer } from "../../shared/votes.ts";
import { sql, supabase } from "../stack.ts";
import { api, type Caller, expectError, expectJson, getJson } from "./client.ts";
import {
  countMistakes,
  joinTeam,
  newComment,
  newKey,
  newOrganization,
  newSubmission,
  newUser,
  newUsers,
  stored,
} from "./world.ts";

const organization = await newOrganization();
const admin = await newUser("Adam Admin", { organization, role: "admin" });
const owner = await newUser("Olga Owner", { organization, role: "owner" });
const author = await newUser("Ada");
const voter = await newUser("Vic");

const newIdea = () => newSubmission(organization, author);
const merge = (source_ids: unknown, target_id: unknown, as: Caller = admin) =>
  api("POST", "/api/admin/merge", { as, body: { source_ids, target_id } });
const unmerge = (submission_id: string, as: Caller = admin) =>
  api("POST", "/api/admin/unmerge", { as, body: { submission_id } });
const vote = (id: string, as: Caller) => api("POST", `/api/submissions/${id}/vote`, { as });
const addComment = (id: string, as: Caller, parent_id?: string) =>
  api("POST", `/api/submissions/${id}/comments`, { as, body: { body: "Me too", parent_id } });

describe("a merge", () => {
  it("leaves one submission with all votes, comments and followers, and is reverted", async () => {
    const [source, target] = [await newIdea(), await newIdea()];
    await vote(source, voter);
    await vote(target, voter);
    await newComment(source, voter);
    const { data } = expectJson(await merge([source], target), 200, mergedAnswer);
    expect(data).toEqual({ target_id: target, source_ids: [source], vote_count: 2, comment_count: 1 });

    const votes = await getJson("/api/me/votes?limit=100", myVoteListAnswer, { as: voter, on: organization });
    expect(votes.data.map(({ submission_id }) => submission_id)).toEqual([target]);

    const notified = (
      await getJson("/api/me/notifications?unread=true", notificationListAnswer, { as: voter, on: organization })
    ).data;
    expect(notified.filter(({ type }) => type === "merged")).toMatchObject([{ submission_id: target }]);
    const restored = expectJson(await unmerge(source), 200, unmergedAnswer).data;
    expect(restored).toEqual({
      submission_id: source,
      target_id: target,
      status: "open",
      vote_count: 2,
      comment_count: 1,
    });
    expect(await stored("submissions", target)).toMatchObject({ vote_count: 2, comment_count: 0 });
    const trail = (await getJson(`/api/admin/audit?target_id=${source}`, auditAnswer, { as: admin, on: organization }))
      .data;
    expect(trail).toMatchObject([
      { action: "submission.unmerge", actor: { id: admin.id, name: "Adam Admin" }, details: { target_id: target } },
    ]);
  });

  it("makes followers of a source follow the target, until they unfollow or the merge is reverted", async () => {
    const [source, target] = [await newIdea(), await newIdea()];
    const [fan, other] = await newUsers(2);
    if (!fan || !other) throw new Error("nobody came");
    const follow = (method: "POST" | "DELETE", id: string, as: Caller) =>
      api(method, `/api/submissions/${id}/follow`, { as });
    const follows = async (id: string, as: Caller) =>
      (await getJson(`/api/submissions/${id}`, submissionDetailAnswer, { as })).data.is_following;
    for (const person of [fan, other]) await follow("POST", source, person);
    await merge([source], target);
    expect([await follows(target, fan), await follows(target, other)]).toEqual([true, true]);
    expect((await follow("POST", target, fan)).status).toBe(200);
    await addComment(target, voter);
    const notified = await sql`
      select user_id from public.notifications where submission_id = ${target} and type = 'comment' and user_id in (${fan.id}, ${other.id})`;
    expect(notified).toHaveLength(2);
    await follow("DELETE", target, other);
    expect(await follows(target, other)).toBe(false);
    await unmerge(source);
    expect([await follows(source, fan), await follows(target, fan)]).toEqual([true, false]);
    expect(await follows(source, other)).toBe(false);

    await merge([source], target);
    expectJson(await api("DELETE", `/api/submissions/${source}`, { as: admin }), 200, deletedAnswer);
    expect(await follows(target, fan)).toBe(true);
  });

  it("of several sources notifies a follower of all of them once", async () => {
    const sources = [await newIdea(), await newIdea(), await newIdea()];
    const target = await newIdea();
    for (const id of sources) await vote(id, voter);
    await merge(sources, target);
    const [notified] = await sql`
      select count(*)::integer as n from public.notifications where user_id = ${voter.id} and submission_id = ${target}`;
    expect(notified).toEqual({ n: 1 });
    expect(await stored("submissions", target)).toMatchObject({ vote_count: 2 });
  });

  it("restores a tag when reverted, also when the source received it again meanwhile", async () => {
    const [source, target, root] = [await newIdea(), await newIdea(), await newIdea()];
    const [tag] = await sql<{ slug: string }[]>`
      insert into public.tags (organization_id, name, slug) values (${organization.id}, 'Twice', ${`t-${source}`}) returning slug`;
    const change = (id: string, action: string) =>
      api("POST", "/api/admin/bulk", { as: admin, on: organization, body: { ids: [id], action, value: [tag?.slug] } });
    const tagsOf = async (id: string) => (await getJson(`/api/submissions/${id}`, submissionDetailAnswer)).data.tags;
    await change(source, "add_tags");
    await merge([source], target);
    await change(source, "add_tags");
    expectJson(await unmerge(source), 200, unmergedAnswer);
    expect([await tagsOf(source), await tagsOf(target)]).toEqual([[tag?.slug], []]);
    await merge([source], target);
    expectJson(await merge([target], root), 200, mergedAnswer);
    expectJson(await unmerge(source), 200, unmergedAnswer);
    expect([await tagsOf(source), await tagsOf(root)]).toEqual([[tag?.slug], []]);

    await change(root, "add_tags");
    await merge([source], root);
    await change(root, "remove_tags");
    expectJson(await unmerge(source), 200, unmergedAnswer);
    expect(await tagsOf(source), "taken away at the target it stays away").toEqual([]);
  });

  it("is limited to one organization, for every caller", async () => {
    const other = await newOrganization({ visibility: "private" });
    const both = await newUser("Both", { organization, role: "admin" });
    await joinTeam(both.id, other, "owner");
    const [here, there] = [await newIdea(), await newSubmission(other, author)];
    expectError(await merge([there], here, both), "NOT_FOUND", "source_ids");
    expectError(await merge([here], there, both), "NOT_FOUND", "source_ids");
    expectError(await merge([here], there), "NOT_FOUND", "target_id");
    expectError(
      await merge([here], await newIdea(), await newKey(other, ["submissions:moderate"])),
      "NOT_FOUND",
      "target_id",
    );
    expectError(await unmerge(there), "NOT_FOUND", "submission_id");
    expectError(
      await api("POST", "/api/admin/merge", {
        as: both,
        on: other,
        body: { source_ids: [here], target_id: await newIdea() },
      }),
      "NOT_FOUND",
      "target_id",
    );
  });
});

describe("concurrently", () => {
  it("merges of overlapping sets run one after the other", async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, () => newIdea()));
    const at = (n: number) => ids[n % ids.length] as string;
    const answers = await Promise.all(
      ids.flatMap((id, n) => [merge([at(n + 1), at(n + 2)], id), merge([at(n + 2)], at(n + 1)), unmerge(id)]),
    );
    const unexpected = answers.filter(({ status }) => status !== 200 && status !== 409);
    expect(unexpected.map(({ text }) => text)).toEqual([]);
    const chains = await sql`
      select s.id from public.submissions s join public.submissions t on t.id = s.merged_into_id
      where s.organization_id = ${organization.id} and t.merged_into_id is not null`;
    expect([...chains]).toEqual([]);
    expect(await countMistakes(organization)).toEqual([]);
  });

  it("votes, comments and deletes during a merge succeed or are rejected, and all are counted", async () => {
    const people = await newUsers(12);
    const [a, b, c] = [await newIdea(), await newIdea(), await newIdea()];
    const root = await newComment(a, voter);
    const answers = await Promise.all(
      people.flatMap((person, n) => [
        vote([a, b, c][n % 3] as string, person),
        vote(a, person),
        addComment(a, person, root),
        addComment(b, person),
        api("POST", `/api/comments/${root}/vote`, { as: person }),
        ...(n % 3 === 0 ? [merge([a], b)] : []),
        ...(n % 3 === 1 ? [unmerge(a)] : []),
        ...(n === 5 ? [merge([b], c), api("DELETE", `/api/comments/${root}`, { as: voter })] : []),
        api("DELETE", `/api/submissions/${a}/vote`, { as: person }),
      ]),
    );
    const unexpected = answers.filter(({ status }) => ![200, 201, 404, 409].includes(status));
    expect(unexpected.map(({ text }) => text)).toEqual([]);
    expect(await countMistakes(organization)).toEqual([]);
    const orphans = await sql`
      select v.user_id from public.votes v join public.submissions s on s.id = v.submission_id
      where s.organization_id = ${organization.id} and s.merged_into_id is not null`;
    expect([...orphans]).toEqual([]);
  });

  it("reverts, edits, moderation and erasure by every interface do not deadlock", async () => {
    const people = await newUsers(10);
    const [a, b, c] = [await newIdea(), await newIdea(), await newIdea()];
    const roots = await Promise.all([a, a, b].map((id) => newComment(id, voter)));
    const own = await Promise.all(
      people.map((person, n) => newComment([a, a, b][n % 3] as string, person, { parent_id: roots[n % 3] as string })),
    );
    await sql`
      insert into public.votes (submission_id, user_id)
      select s, p from unnest(${[a, b]}::uuid[]) s, unnest(${people.map(({ id }) => id)}::uuid[]) p`;
    await sql`
      insert into public.comment_votes (comment_id, user_id)
      select c, p from unnest(${roots}::uuid[]) c, unnest(${people.map(({ id }) => id)}::uuid[]) p`;
    const calls = people.flatMap((person, n) => {
      const client = supabase(person);
      const [root, reply] = [roots[n % 3] as string, own[n] as string];
      return [
        client.rpc("unvote", { submission_id: a }),
        client.rpc("unfollow", { submission_id: a }),
        client.rpc("unvote_comment", { comment_id: root }),
        client.rpc("update_comment", { id: reply, body: "Changed" }),
        n % 2 ? client.rpc("delete_comment", { id: reply }) : addComment(a, person, root),
        n % 3 === 0 ? merge([a], b) : unmerge(a),
        n % 5 === 1 ? merge([b], c) : unmerge(b),
        n === 3
          ? api("POST", `/api/admin/people/${person.id}/erase`, { as: owner, on: organization })
          : api("POST", `/api/comments/${root}/vote`, { as: person }),
        n === 5
          ? api("POST", "/api/admin/moderation", {
              as: admin,
              body: { target_type: "comment", target_id: root, action: "reject" },
            })
          : vote(b, person),
      ];
    });
    const answers = await Promise.all(calls);
    // The fourth person may vote no more once the erasure is done.
    const mayBeErased = (index: number) => Math.floor((index * people.length) / calls.length) === 3;
    const unexpected = answers.filter(
      ({ status }, index) => ![200, 201, 204, 404, 409].includes(status) && !(status === 403 && mayBeErased(index)),
    );
    expect(unexpected).toEqual([]);
    expect(await countMistakes(organization)).toEqual([]);
  });
});
