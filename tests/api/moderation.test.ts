import { beforeAll, describe, expect, it } from "vitest";
import { commentAnswer, commentListAnswer } from "../../shared/comments.ts";
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
import { answered, api, type Caller, refused } from "./client.ts";
import {
  longEnough,
  newKey,
  newOrganization,
  newSubmission,
  newUser,
  type Organization,
  only,
  type User,
} from "./world.ts";

let organization: Organization;
let admin: User;
let member: User;
let stranger: User;

beforeAll(async () => {
  organization = await newOrganization({ require_approval: true });
  admin = await newUser("Adam", { organization, role: "admin" });
  member = await newUser("Mia", { organization, role: "member" });
  stranger = await newUser("Sam");
});

const queue = async (query: string, as: Caller = admin) =>
  answered(
    await api("GET", `/api/admin/moderation?${query}`, { as, on: organization }),
    200,
    moderationQueueAnswer,
  );
const decide = (
  target_type: string,
  target_id: string,
  action: string,
  more: object = {},
  as: Caller = admin,
) => api("POST", "/api/admin/moderation", { as, body: { target_type, target_id, action, ...more } });
const submit = async (as: Caller, title: string) =>
  (
    await api("POST", "/api/submissions", {
      as,
      on: organization,
      body: { title, description: longEnough, type: "idea" },
    })
  ).body as { data: { id: string } };
const say = async (as: Caller, on: string, parent_id?: string) => {
  const { body } = await api("POST", `/api/submissions/${on}/comments`, {
    as,
    body: { body: "A comment", parent_id },
  });
  return (body as { data: { id: string } }).data.id;
};

/** All the ways a submission could be met. */
async function waysTo(id: string, word: string, as?: Caller): Promise<string[]> {
  const on = organization;
  const call = { as, on };
  const list = answered(await api("GET", "/api/submissions?limit=100", call), 200, submissionListAnswer);
  const found = answered(
    await api("GET", `/api/submissions/search?q=${word}`, call),
    200,
    submissionSearchAnswer,
  );
  const similar = answered(
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

describe("what waits for approval", () => {
  it("is met by its author and the team on every way, by nobody else on any, until it is approved", async () => {
    const author = await newUser("Ada");
    const word = `word${author.id.slice(0, 8)}`;
    const { data } = await submit(author, `About ${word}`);
    const everyWay = ["list", "search", "similar", "detail", "data API"];
    for (const as of [author, member, admin]) expect(await waysTo(data.id, word, as)).toEqual(everyWay);
    for (const as of [undefined, stranger]) expect(await waysTo(data.id, word, as)).toEqual([]);
    refused(await api("POST", `/api/submissions/${data.id}/vote`, { as: stranger }), "NOT_FOUND");

    const waiting = await queue("type=submission");
    expect(waiting.data).toContainEqual(
      expect.objectContaining({ id: data.id, state: "pending", is_trusted: false, body: longEnough }),
    );
    const done = answered(await decide("submission", data.id, "approve"), 200, moderationAnswer).data;
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

  it("says so of itself to its author and the team", async () => {
    const author = await newUser("Ada");
    const { data } = await submit(author, "Is this out yet?");
    const state = async (as: Caller) =>
      answered(await api("GET", `/api/submissions/${data.id}`, { as }), 200, submissionDetailAnswer).data
        .moderation_state;
    expect([await state(author), await state(member)]).toEqual(["pending", "pending"]);
    await decide("submission", data.id, "approve");
    const comment = await say(author, data.id);
    expect([await state(stranger), await state(author)]).toEqual(["approved", "approved"]);
    const answer = await api("GET", `/api/comments/${comment}`, { as: author });
    expect(answered(answer, 200, commentAnswer).data.moderation_state).toBe("pending");
  });

  it("is announced with its first approval, and no vote or status before", async () => {
    const { data } = await submit(stranger, "Nobody was told of it");
    const announced = async () =>
      (await sql`select type from private.outbox where subject_id = ${data.id} order by id`).map(
        ({ type }) => type,
      );
    const change = async (status: string) => {
      await api("PATCH", `/api/submissions/${data.id}/status`, { as: admin, body: { status } });
      await api("POST", `/api/submissions/${data.id}/vote`, { as: member });
      await api("DELETE", `/api/submissions/${data.id}/vote`, { as: member });
    };
    await change("planned");
    expect(await announced()).toEqual([]);
    await decide("submission", data.id, "approve");
    await change("open");
    const told = [
      "submission.created",
      "submission.status_changed",
      "submission.vote_added",
      "submission.vote_removed",
    ];
    expect(await announced()).toEqual(told);
    await decide("submission", data.id, "spam");
    await change("declined");
    expect(await announced()).toEqual(told);
  });

  it("waits on where approval is asked for no longer, until somebody decides", async () => {
    const board = await newOrganization({ require_approval: true });
    const owner = await newUser("Olga", { organization: board, role: "owner" });
    const id = answered(
      await api("POST", "/api/submissions", {
        as: stranger,
        on: board,
        body: { title: "Still waiting", description: longEnough, type: "idea" },
      }),
      201,
      submissionCreatedAnswer,
    ).data.id;
    await api("PATCH", `/api/organizations/${board.id}`, { as: owner, body: { require_approval: false } });
    refused(await api("GET", `/api/submissions/${id}`, { as: admin }), "NOT_FOUND");
    expect(
      (
        await api("POST", "/api/admin/moderation", {
          as: owner,
          body: { target_type: "submission", target_id: id, action: "approve" },
        })
      ).status,
    ).toBe(200);
    expect((await api("GET", `/api/submissions/${id}`)).status).toBe(200);
  });

  it("as a comment is neither counted nor told of before, and takes its replies along after", async () => {
    const owner = await newUser("Olga");
    const id = await newSubmission(organization, owner);
    const comment = await say(stranger, id);
    const seen = async (as?: Caller) => {
      const list = answered(
        await api("GET", `/api/submissions/${id}/comments`, { as }),
        200,
        commentListAnswer,
      );
      const replies = answered(
        await api("GET", `/api/submissions/${id}/comments?parent_id=${comment}`, { as }),
        200,
        commentListAnswer,
      );
      const detail = answered(
        await api("GET", `/api/submissions/${id}`, { as }),
        200,
        submissionDetailAnswer,
      );
      return [list.meta.total, replies.meta.total, detail.data.comment_count];
    };
    const told = async () =>
      answered(
        await api("GET", "/api/me/notifications", { as: owner }),
        200,
        notificationListAnswer,
      ).data.filter(({ comment_id }) => comment_id !== null).length;
    expect([await seen(owner), await seen(stranger), await told()]).toEqual([[0, 0, 0], [1, 0, 0], 0]);
    refused(
      await api("POST", `/api/submissions/${id}/comments`, {
        as: member,
        body: { body: "Yes", parent_id: comment },
      }),
      "CONFLICT",
      "parent_id",
    );
    await decide("comment", comment, "approve");
    await say(member, id, comment);
    expect([await seen(owner), await told()]).toEqual([[1, 1, 2], 2]);
    await decide("comment", comment, "reject");
    expect([await seen(owner), await told()]).toEqual([[0, 0, 0], 0]);
    await decide("comment", comment, "approve");
    expect([await seen(owner), await told()]).toEqual([[1, 1, 2], 2]);
    const [events] =
      await sql`select count(*)::integer as n from private.outbox where subject_id = ${comment}`;
    expect(events).toEqual({ n: 1 });
  });
});

describe("the queue", () => {
  it("is read on by its cursor, oldest first, each item once", async () => {
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
      const page = answered(
        await api("GET", `/api/admin/moderation?limit=2${cursor}`, { as: moderator }),
        200,
        moderationQueueAnswer,
      );
      expect(page.meta.total).toBe(5);
      read.push(...page.data.map(({ id }) => id));
      cursor = page.meta.next_cursor ? `&cursor=${page.meta.next_cursor}` : "";
    } while (cursor);
    expect(read).toEqual(ids);
  });

  it.each([
    ["nobody", (): undefined => undefined, "UNAUTHORIZED"],
    ["a stranger", () => stranger, "FORBIDDEN"],
    ["a member", () => member, "FORBIDDEN"],
  ] as const)("is not for %s", async (_, who, code) => {
    refused(await api("GET", "/api/admin/moderation", { as: who(), on: organization }), code);
  });

  it.each([
    ["state=approved", ["state"]],
    ["type=vote", ["type"]],
    ["cursor=x", ["cursor"]],
  ])("refuses %s", async (query, fields) => {
    refused(
      await api("GET", `/api/admin/moderation?${query}`, { as: admin, on: organization }),
      "VALIDATION_ERROR",
      ...fields,
    );
  });
});

describe("trust", () => {
  it("is given by the team, and spam takes it away", async () => {
    const author = await newUser("Tia");
    const first = await submit(author, "The first of Tia");
    refused(
      await decide("submission", first.data.id, "reject", { trust_author: true }),
      "VALIDATION_ERROR",
      "trust_author",
    );
    answered(
      await decide("submission", first.data.id, "approve", { trust_author: true }),
      200,
      moderationAnswer,
    );
    const second = await submit(author, "The second of Tia");
    expect(await waysTo(second.data.id, "second", stranger)).toContain("list");
    answered(await decide("submission", second.data.id, "spam", { reason: "Ads" }), 200, moderationAnswer);
    const third = await submit(author, "The third of Tia");
    expect(await waysTo(third.data.id, "third", stranger)).toEqual([]);
    const entry = only(
      (await sql`select details from private.audit_log where target_id = ${second.data.id}`)[0],
    );
    expect(entry.details).toEqual({ state: { from: "approved", to: "spam" }, reason: "Ads" });
  });

  it("of one organization is worth nothing to another", async () => {
    const id = await newSubmission(organization, stranger);
    const rita = await newUser("Rita", { organization: await newOrganization(), role: "owner" });
    refused(await decide("submission", id, "approve", { trust_author: true }, rita), "FORBIDDEN");
    const { data } = await submit(await newUser("Una"), "Not seen by Rita");
    refused(await decide("submission", data.id, "approve", {}, rita), "NOT_FOUND", "target_id");
    refused(
      await decide("submission", data.id, "approve", {}, await newKey(organization, ["submissions:write"])),
      "FORBIDDEN",
    );
  });
});
