import { describe, expect, it } from "vitest";
import { commentListAnswer } from "../../shared/comments.ts";
import type { ErrorEnvelope } from "../../shared/errors.ts";
import { moderationAnswer, moderationQueueAnswer } from "../../shared/moderation.ts";
import { notificationListAnswer } from "../../shared/notifications.ts";
import {
  duplicatesAnswer,
  submissionCreatedAnswer,
  submissionDetailAnswer,
  submissionListAnswer,
  submissionSearchAnswer,
} from "../../shared/submissions.ts";
import { sql, supabase } from "../stack.ts";
import { api, type Caller, expectError, expectJson, getJson } from "./client.ts";
import { longEnough, newKey, newOrganization, newSubmission, newUser, textOf, type User } from "./world.ts";

const organization = await newOrganization({ require_approval: true });
const admin = await newUser("Adam", { organization, role: "admin" });
const member = await newUser("Mia", { organization, role: "member" });
const stranger = await newUser("Sam");

const queue = async (query: string, as: Caller = admin) =>
  await getJson(`/api/admin/moderation?${query}`, moderationQueueAnswer, { as, on: organization });
const decide = async (target_type: string, target_id: string, action: string, more: object = {}, as: Caller = admin) =>
  api("POST", "/api/admin/moderation", {
    as,
    body: { target_type, target_id, action, updated_at: await textOf(target_id), ...more },
  });
const submit = async (as: Caller, title: string) =>
  (
    await api("POST", "/api/submissions", {
      as,
      on: organization,
      body: { title, description: longEnough, type: "idea" },
    })
  ).body as { data: { id: string } };
const addComment = async (as: Caller, on: string, parent_id?: string) => {
  const { body } = await api("POST", `/api/submissions/${on}/comments`, { as, body: { body: "A comment", parent_id } });
  return (body as { data: { id: string } }).data.id;
};

/** Every interface through which a submission could be visible. */
async function waysTo(id: string, word: string, as?: Caller): Promise<string[]> {
  const on = organization;
  const call = { as, on };
  const list = await getJson("/api/submissions?limit=100", submissionListAnswer, call);
  const found = await getJson(`/api/submissions/search?q=${word}`, submissionSearchAnswer, call);
  const similar = expectJson(
    await api("POST", "/api/submissions/check-duplicates", { ...call, body: { title: `About ${word}` } }),
    200,
    duplicatesAnswer,
  );
  const has = (rows: { id: string }[]) => rows.some((row) => row.id === id);
  const detail = await api("GET", `/api/submissions/${id}`, { as });
  const user = as as User | undefined;
  const rows = await supabase(user).from("submissions").select("id").eq("id", id);
  return [
    ...(has(list.data) ? ["list"] : []),
    ...(list.meta.total === list.data.length ? [] : ["total"]),
    ...(has(found.data) || found.meta.total > found.data.length ? ["search"] : []),
    ...(has(similar.data.similar) ? ["similar"] : []),
    ...(detail.status === 200 ? ["detail"] : []),
    ...(rows.data?.length ? ["data API"] : []),
  ];
}

describe("pending content", () => {
  it("is visible to its author and the team through every interface, and to nobody else until approved", async () => {
    const author = await newUser("Ada");
    const word = `word${author.id.slice(0, 8)}`;
    const { data } = await submit(author, `About ${word}`);
    const everyWay = ["list", "search", "similar", "detail", "data API"];
    for (const as of [author, member, admin]) expect(await waysTo(data.id, word, as)).toEqual(everyWay);
    for (const as of [undefined, stranger]) expect(await waysTo(data.id, word, as)).toEqual([]);
    expectError(await api("POST", `/api/submissions/${data.id}/vote`, { as: stranger }), "NOT_FOUND");

    const pending = await queue("type=submission");
    expect(pending.data).toContainEqual(
      expect.objectContaining({ id: data.id, state: "pending", is_trusted: false, body: longEnough }),
    );
    const done = expectJson(await decide("submission", data.id, "approve"), 200, moderationAnswer).data;
    expect(done).toEqual({
      target_type: "submission",
      target_id: data.id,
      previous_state: "pending",
      state: "approved",
    });
    for (const as of [undefined, stranger]) expect(await waysTo(data.id, word, as)).toEqual(everyWay);
    await decide("submission", data.id, "reject");
    for (const as of [undefined, stranger]) expect(await waysTo(data.id, word, as)).toEqual([]);
    expect(await waysTo(data.id, word, author)).toEqual(everyWay);
  });

  it("is published with its first approval, and no vote or status before", async () => {
    const { data } = await submit(stranger, "Nobody was told of it");
    const announced = async () =>
      (await sql`select type from private.outbox where subject_id = ${data.id} order by id`).map(({ type }) => type);
    const change = async (status: string) => {
      await api("PATCH", `/api/submissions/${data.id}/status`, { as: admin, body: { status } });
      await api("POST", `/api/submissions/${data.id}/vote`, { as: member });
      await api("DELETE", `/api/submissions/${data.id}/vote`, { as: member });
    };
    await change("planned");
    expect(await announced()).toEqual([]);
    await decide("submission", data.id, "approve");
    await change("open");
    const notified = [
      "submission.created",
      "submission.status_changed",
      "submission.vote_added",
      "submission.vote_removed",
    ];
    expect(await announced()).toEqual(notified);
    await decide("submission", data.id, "spam");
    await change("declined");
    expect(await announced()).toEqual(notified);
  });

  it("stays pending after the organization stops requiring approval, until a moderator decides", async () => {
    const board = await newOrganization({ require_approval: true });
    const owner = await newUser("Olga", { organization: board, role: "owner" });
    const id = expectJson(
      await api("POST", "/api/submissions", {
        as: stranger,
        on: board,
        body: { title: "Still waiting", description: longEnough, type: "idea" },
      }),
      201,
      submissionCreatedAnswer,
    ).data.id;
    await api("PATCH", `/api/organizations/${board.id}`, { as: owner, body: { require_approval: false } });
    expectError(await api("GET", `/api/submissions/${id}`, { as: admin }), "NOT_FOUND");
    expect(
      (
        await api("POST", "/api/admin/moderation", {
          as: owner,
          body: { target_type: "submission", target_id: id, action: "approve", updated_at: await textOf(id) },
        })
      ).status,
    ).toBe(200);
    expect((await api("GET", `/api/submissions/${id}`)).status).toBe(200);
  });

  it("as a comment is not counted or published, and its replies become visible with it", async () => {
    const owner = await newUser("Olga");
    const id = await newSubmission(organization, owner);
    const comment = await addComment(stranger, id);
    const seen = async (as?: Caller) => {
      const list = await getJson(`/api/submissions/${id}/comments`, commentListAnswer, { as });
      const replies = await getJson(`/api/submissions/${id}/comments?parent_id=${comment}`, commentListAnswer, { as });
      const detail = await getJson(`/api/submissions/${id}`, submissionDetailAnswer, { as });
      return [list.meta.total, replies.meta.total, detail.data.comment_count];
    };
    const notified = async () =>
      (await getJson("/api/me/notifications", notificationListAnswer, { as: owner })).data.filter(
        ({ comment_id }) => comment_id !== null,
      ).length;
    expect([await seen(owner), await seen(stranger), await notified()]).toEqual([[0, 0, 0], [1, 0, 0], 0]);
    expectError(
      await api("POST", `/api/submissions/${id}/comments`, { as: member, body: { body: "Yes", parent_id: comment } }),
      "CONFLICT",
      "parent_id",
    );
    await decide("comment", comment, "approve");
    await addComment(member, id, comment);
    expect([await seen(owner), await notified()]).toEqual([[1, 1, 2], 2]);
    await decide("comment", comment, "reject");
    expect([await seen(owner), await notified()]).toEqual([[0, 0, 0], 0]);
    await decide("comment", comment, "approve");
    expect([await seen(owner), await notified()]).toEqual([[1, 1, 2], 2]);
    const [events] = await sql`select count(*)::integer as n from private.outbox where subject_id = ${comment}`;
    expect(events).toEqual({ n: 1 });
  });
});

describe("an approval", () => {
  it("is about the text that was read: a later one is a conflict that shows it", async () => {
    const author = await newUser("Ann");
    const { id } = (await submit(author, "A harmless request")).data;
    const read = (await queue("limit=100")).data.find((item) => item.id === id)?.updated_at;
    const body = { title: "Nobody has read this" };
    expect((await api("PATCH", `/api/submissions/${id}`, { as: author, body })).status).toBe(200);
    const refused = await decide("submission", id, "approve", { updated_at: read });
    expectError(refused, "TEXT_CHANGED");
    const { current } = (refused.body as ErrorEnvelope).error;
    expect(current).toMatchObject({ title: body.title, body: longEnough });
    expectError(await decide("submission", id, "approve", { updated_at: undefined }), "TEXT_CHANGED");
    expectError(await api("GET", `/api/submissions/${id}`), "NOT_FOUND");
    expect((await decide("submission", id, "approve", { updated_at: current?.updated_at })).status).toBe(200);
    expect((await api("GET", `/api/submissions/${id}`)).status).toBe(200);
  });

  it("without a time is about the text that was submitted, or that an admin wrote", async () => {
    const unnamed = { updated_at: undefined };
    const [own, theirs] = await Promise.all([
      submit(await newUser("Ann"), "As Ann wrote it"),
      submit(await newUser("Ann"), "As Ann wrote it"),
    ]);
    expect((await decide("submission", own.data.id, "approve", unnamed)).status).toBe(200);
    const body = { title: "As Adam put it" };
    expect((await api("PATCH", `/api/submissions/${theirs.data.id}`, { as: admin, body })).status).toBe(200);
    expect((await decide("submission", theirs.data.id, "approve", unnamed)).status).toBe(200);
  });

  it("at the same moment as an edit publishes the text that was read, or nothing", async () => {
    const author = await newUser("Ann");
    const { id } = (await submit(author, "A harmless request")).data;
    for (let n = 0; n < 8; n++) {
      const updated_at = await textOf(id);
      const [approval] = await Promise.all([
        decide("submission", id, "approve", { updated_at }),
        api("PATCH", `/api/submissions/${id}`, { as: author, body: { title: `Nobody has read ${n}` } }),
      ]);
      expect([200, 409]).toContain(approval.status);
      expectError(await api("GET", `/api/submissions/${id}`), "NOT_FOUND");
      await decide("submission", id, "reopen");
    }
  });

  it("of a comment publishes no reply that was edited while it was hidden", async () => {
    const id = await newSubmission(organization, member);
    const comment = await addComment(member, id);
    const reply = await addComment(stranger, id, comment);
    await decide("comment", reply, "approve");
    await decide("comment", comment, "reject");
    const body = { body: "Nobody has read this" };
    expect((await api("PATCH", `/api/comments/${reply}`, { as: stranger, body })).status).toBe(200);
    await decide("comment", comment, "approve");
    expectError(await api("GET", `/api/comments/${reply}`), "NOT_FOUND");
    expect((await queue("type=comment")).data.map((item) => item.body)).toContain(body.body);
  });
});

describe("the moderation queue", () => {
  it("is paginated by its cursor, oldest first, each item once", async () => {
    const board = await newOrganization({ require_approval: true });
    const moderator = await newKey(board, ["submissions:moderate"]);
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      const answer = await api("POST", "/api/submissions", {
        as: stranger,
        on: board,
        body: { title: `Number ${n}`, description: longEnough, type: "idea" },
      });
      ids.push((answer.body as { data: { id: string } }).data.id);
    }
    const read: string[] = [];
    let cursor = "";
    do {
      const page = await getJson(`/api/admin/moderation?limit=2${cursor}`, moderationQueueAnswer, { as: moderator });
      expect(page.meta.total).toBe(5);
      read.push(...page.data.map(({ id }) => id));
      cursor = page.meta.next_cursor ? `&cursor=${page.meta.next_cursor}` : "";
    } while (cursor);
    expect(read).toEqual(ids);
  });
});

describe("trust", () => {
  it("is granted by the team, and removed by a spam decision", async () => {
    const author = await newUser("Tia");
    const first = await submit(author, "The first of Tia");
    expectError(
      await decide("submission", first.data.id, "reject", { trust_author: true }),
      "VALIDATION_ERROR",
      "trust_author",
    );
    expectJson(await decide("submission", first.data.id, "approve", { trust_author: true }), 200, moderationAnswer);
    const second = await submit(author, "The second of Tia");
    expect(await waysTo(second.data.id, "second", stranger)).toContain("list");
    expectJson(await decide("submission", second.data.id, "spam"), 200, moderationAnswer);
    const third = await submit(author, "The third of Tia");
    expect(await waysTo(third.data.id, "third", stranger)).toEqual([]);
  });

  it("in one organization does not apply to another", async () => {
    const id = await newSubmission(organization, stranger);
    const rita = await newUser("Rita", { organization: await newOrganization(), role: "owner" });
    expectError(await decide("submission", id, "approve", { trust_author: true }, rita), "FORBIDDEN");
    const { data } = await submit(await newUser("Una"), "Not seen by Rita");
    expectError(await decide("submission", data.id, "approve", {}, rita), "NOT_FOUND", "target_id");
    expectError(
      await decide("submission", data.id, "approve", {}, await newKey(organization, ["submissions:write"])),
      "FORBIDDEN",
    );
  });
});
