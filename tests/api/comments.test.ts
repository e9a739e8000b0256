import { beforeEach, describe, expect, it } from "vitest";
import { commentAnswer, commentCreatedAnswer, commentListAnswer } from "../../shared/comments.ts";
import { deletedAnswer, submissionDetailAnswer } from "../../shared/submissions.ts";
import { sql } from "../stack.ts";
import { api, type Caller, expectError, expectJson, getJson } from "./client.ts";
import {
  countMistakes,
  figure,
  merge,
  newComment,
  newKey,
  newOrganization,
  newSubmission,
  newUser,
  only,
  stored,
} from "./world.ts";

let id: string;
const organization = await newOrganization();
const author = await newUser("Ada");
const commenter = await newUser("Carl Commenter");
const admin = await newUser("Adam", { organization, role: "admin" });
const member = await newUser("Mia", { organization, role: "member" });
const key = await newKey(organization, ["submissions:write"]);

beforeEach(async () => {
  id = await newSubmission(organization, author);
});

const post = (body: unknown, as: Caller | undefined = commenter, on = id) =>
  api("POST", `/api/submissions/${on}/comments`, { as, body });
const list = async (query = "", as?: Caller, on = id) =>
  await getJson(`/api/submissions/${on}/comments${query}`, commentListAnswer, { as });
const show = async (comment: string, query = "") =>
  (await getJson(`/api/comments/${comment}${query}`, commentAnswer)).data;
const edit = (comment: string, body: unknown, as?: Caller) => api("PATCH", `/api/comments/${comment}`, { as, body });
const remove = (comment: string, as?: Caller) => api("DELETE", `/api/comments/${comment}`, { as });
const commentCount = async () => (await stored("submissions", id))?.comment_count;
const bodies = (comments: { body: string }[]) => comments.map(({ body }) => body);

describe("creating a comment", () => {
  it("returns 201 with id, body, the author's id and name, is_official and created_at", async () => {
    const { data } = expectJson(await post({ body: "Yes please" }), 201, commentCreatedAnswer);
    expect(data).toEqual({
      id: data.id,
      body: "Yes please",
      author: { id: commenter.id, name: "Carl Commenter" },
      is_official: false,
      created_at: data.created_at,
    });
    expect(await show(data.id)).toEqual({
      ...data,
      submission_id: id,
      parent_id: null,
      author: { id: commenter.id, name: "Carl Commenter", avatar: figure(commenter.id), is_team_member: false },
      moderation_state: "approved",
      vote_count: 0,
      reply_count: 0,
      updated_at: data.created_at,
    });
  });

  it("increments the submission's comment count, for replies too", async () => {
    const { data } = expectJson(await post({ body: "One" }), 201, commentCreatedAnswer);
    expectJson(await post({ body: "Two", parent_id: data.id }), 201, commentCreatedAnswer);
    expect(await commentCount()).toBe(2);
    expect(await show(data.id)).toMatchObject({ reply_count: 1 });
  });

  it.each([
    ["a stranger", () => commenter, false],
    ["the author of the submission", () => author, false],
    ["a member", () => member, true],
    ["an admin", () => admin, true],
    ["a key", () => key, false],
  ] as const)("by %s is official: %s", async (_, as, official) => {
    const { data } = expectJson(await post({ body: "Well" }, as()), 201, commentCreatedAnswer);
    expect(data.is_official).toBe(official);
  });

  it("is official only for members of this organization", async () => {
    const outsider = await newUser("Rita", { organization: await newOrganization(), role: "owner" });
    expect(expectJson(await post({ body: "Hi" }, outsider), 201, commentCreatedAnswer).data.is_official).toBe(false);
  });

  it.each([
    ["nothing", {}, ["body"]],
    ["null", { body: null }, ["body"]],
    ["empty text", { body: "" }, ["body"]],
    ["blanks", { body: " \n\t\u3000 " }, ["body"]],
    ["a number", { body: 5 }, ["body"]],
    ["2001 characters", { body: "x".repeat(2001) }, ["body"]],
    ["2001 emoji", { body: "😀".repeat(2001) }, ["body"]],
    ["a NUL", { body: "a\0b" }, ["body"]],
    ["half a surrogate pair", { body: "a\ud83d" }, ["body"]],
    ["a malformed parent", { body: "Yes", parent_id: "first" }, ["parent_id"]],
    ["both wrong", { body: "", parent_id: 7 }, ["body", "parent_id"]],
  ])("rejects %s, and changes nothing", async (_, body, fields) => {
    expectError(await post(body), "VALIDATION_ERROR", ...fields);
    expect(await commentCount()).toBe(0);
  });

  it.each([
    ["one character", "x", "x"],
    ["2000 characters", "x".repeat(2000), "x".repeat(2000)],
    ["2000 emoji", "😀".repeat(2000), "😀".repeat(2000)],
    ["blanks around", "  trimmed \n", "trimmed"],
    ["2000 characters with blanks around", ` ${"x".repeat(2000)} `, "x".repeat(2000)],
    ["HTML, as it is", "<script>alert('x')</script> & co", "<script>alert('x')</script> & co"],
    ["right-to-left text", "مرحبا ‏שלום‎ hi", "مرحبا ‏שלום‎ hi"],
    ["lines", "one\n\ntwo\r\nthree", "one\n\ntwo\r\nthree"],
    ["a family of emoji", "👨‍👩‍👧‍👦 e\u0301", "👨‍👩‍👧‍👦 e\u0301"],
  ])("accepts %s", async (_, body, expected) => {
    const { data } = expectJson(await post({ body }), 201, commentCreatedAnswer);
    expect(data.body).toBe(expected);
    expect((await show(data.id)).body).toBe(expected);
  });

  it("for a named author by key, in the general error envelope", async () => {
    const author_email = `${crypto.randomUUID()}@example.org`;
    const answer = await post({ body: "By mail", author_email, author_name: "Grace" }, key);
    const { data } = expectJson(answer, 201, commentCreatedAnswer);
    expect(data.author.name).toBe("Grace");
    expect(data.author.id).not.toBe(key.profileId);
    expect(answer.text).not.toContain(author_email);
    expectError(await post({ body: "By mail", author_email: "nobody" }, key), "VALIDATION_ERROR", "author_email");
  });

  it("accepts a parent comment of the same submission only", async () => {
    const elsewhere = await newComment(await newSubmission(organization, author), author);
    for (const parent_id of [elsewhere, crypto.randomUUID()])
      expectError(await post({ body: "Hm", parent_id }), "NOT_FOUND");
    expect([await commentCount(), (await stored("comments", elsewhere))?.reply_count]).toEqual([0, 0]);
  });

  it("rejects a deleted parent comment", async () => {
    const { data } = expectJson(await post({ body: "Going" }), 201, commentCreatedAnswer);
    await remove(data.id, commenter);
    expectError(await post({ body: "Too late", parent_id: data.id }), "NOT_FOUND");
    expect(await commentCount()).toBe(0);
  });

  it("accepts parent_id null as no parent", async () => {
    expectJson(await post({ body: "Top", parent_id: null }), 201, commentCreatedAnswer);
    expect((await list()).data).toHaveLength(1);
  });

  it("on a merged submission returns the id of the target", async () => {
    const target = await newSubmission(organization, author);
    await merge(id, target);
    expect(expectError(await post({ body: "Hi" }), "SUBMISSION_MERGED").merged_into_id).toBe(target);
  });

  it("makes its author a follower", async () => {
    await post({ body: "Hi" });
    const shown = await getJson(`/api/submissions/${id}`, submissionDetailAnswer, { as: commenter });
    expect(shown.data.is_following).toBe(true);
  });

  it("by a key makes the author of the address follow only if they asked for it", async () => {
    const author_email = `${crypto.randomUUID()}@example.org`;
    const follows = () => sql`select f.reason from public.follows f join public.profiles p on p.id = f.user_id
      where f.submission_id = ${id} and p.email = ${author_email}`;
    expect((await post({ body: "By mail", author_email }, key)).status).toBe(201);
    expect(await follows()).toEqual([]);
    expect((await post({ body: "By mail", author_email, follow: true }, key)).status).toBe(201);
    expect(await follows()).toEqual([{ reason: "comment" }]);
  });

  it("is pending when the organization requires approval", async () => {
    const moderated = await newOrganization({ require_approval: true });
    const board = await newSubmission(moderated, author);
    const { data } = expectJson(await post({ body: "May I?" }, commenter, board), 201, commentCreatedAnswer);
    expect(bodies((await list("", undefined, board)).data)).toEqual([]);
    expect(bodies((await list("", commenter, board)).data)).toEqual(["May I?"]);
    expectError(await api("GET", `/api/comments/${data.id}`), "NOT_FOUND");
    expect(await stored("submissions", board)).toMatchObject({ comment_count: 0 });
  });
});

describe("the list of comments", () => {
  // Two official comments among those of other users; created in the order a to e, with votes.
  const thread = [
    ["a", "stranger", 1],
    ["b", "official", 0],
    ["c", "stranger", 2],
    ["d", "official", 2],
    ["e", "stranger", 0],
  ] as const;

  const write = async () => {
    for (const [index, [body, by, votes]] of thread.entries()) {
      const comment = await newComment(id, by === "official" ? member : commenter, {
        body,
        created_at: new Date(Date.UTC(2026, 0, 1 + index)),
      });
      for (const voter of [author, admin].slice(0, votes)) {
        await sql`insert into public.comment_votes (comment_id, user_id) values (${comment}, ${voter.id})`;
      }
      await newComment(id, author, { body: `Reply to ${body}`, parent_id: comment });
    }
  };

  it.each([
    ["", "bdace"],
    ["?sort=created_at", "bdace"],
    ["?sort=created_at&order=asc", "bdace"],
    ["?order=desc", "dbeca"],
    ["?sort=votes", "bdeac"],
    ["?sort=votes&order=asc", "bdeac"],
    ["?sort=votes&order=desc", "dbcae"],
    ["?limit=2", "bd"],
    ["?limit=2&page=2", "ac"],
    ["?limit=2&page=3", "e"],
    ["?limit=2&page=4", ""],
  ])("%s: top-level comments only, official ones first", async (query, order) => {
    await write();
    const { data, meta } = await list(query);
    expect(bodies(data).join("")).toBe(order);
    expect(meta).toEqual({ total: 5 });
    for (const comment of data) expect(comment).toMatchObject({ parent_id: null, reply_count: 1, submission_id: id });
  });

  it("returns the replies to one comment with parent_id", async () => {
    const parent = await newComment(id, commenter, { body: "Parent" });
    await newComment(id, author, { body: "First", parent_id: parent });
    const second = await newComment(id, member, { body: "Official", parent_id: parent });
    await newComment(id, author, { body: "Deep", parent_id: second });
    const { data, meta } = await list(`?parent_id=${parent}`);
    expect([bodies(data), meta.total, data[0]?.reply_count]).toEqual([["Official", "First"], 2, 1]);
    expect(bodies((await list(`?parent_id=${second}`)).data)).toEqual(["Deep"]);
  });

  it("is empty for a parent of another submission", async () => {
    const elsewhere = await newSubmission(organization, author);
    const parent = await newComment(elsewhere, author);
    await newComment(elsewhere, author, { parent_id: parent });
    expect(await list(`?parent_id=${parent}`)).toEqual({ data: [], meta: { total: 0 } });
  });
});

describe("a single comment", () => {
  it("includes replies only with expand=replies", async () => {
    const parent = await newComment(id, commenter, { body: "Parent" });
    await newComment(id, author, { body: "First", parent_id: parent });
    await newComment(id, member, { body: "Official", parent_id: parent });
    expect("replies" in (await show(parent))).toBe(false);
    const { replies, ...rest } = await show(parent, "?expand=replies");
    expect(rest).toEqual(await show(parent));
    expect(replies?.map(({ body, parent_id }) => [body, parent_id])).toEqual([
      ["Official", parent],
      ["First", parent],
    ]);
    expect((await show(only(replies?.[0]).id, "?expand=replies")).replies).toEqual([]);
  });
});

describe("editing a comment", () => {
  it("returns the comment with trimmed text and a new updated_at", async () => {
    const comment = await newComment(id, commenter, { body: "Tpyo" });
    await newComment(id, author, { parent_id: comment });
    const { data } = expectJson(await edit(comment, { body: "  Typo " }, commenter), 200, commentAnswer);
    expect(data).toEqual(await show(comment));
    expect(data).toMatchObject({ id: comment, body: "Typo", reply_count: 1 });
    expect(Date.parse(data.updated_at)).toBeGreaterThan(Date.parse(data.created_at));
  });

  it.each([
    [14 * 60 + 50, undefined],
    [15 * 60 + 1, "FORBIDDEN"],
    [24 * 60 * 60, "FORBIDDEN"],
  ] as const)("%i seconds after it was created: %s", async (seconds, code) => {
    const comment = await newComment(id, commenter, { body: "Old", created_at: new Date(Date.now() - seconds * 1000) });
    const answer = await edit(comment, { body: "New" }, commenter);
    if (code) expectError(answer, code);
    else expectJson(answer, 200, commentAnswer);
    expect((await stored("comments", comment))?.body).toBe(code ? "Old" : "New");
  });

  it.each([{}, { body: "" }, { body: "x".repeat(2001) }, { body: null }, { body: ["x"] }, { body: "a\0" }])(
    "rejects %j",
    async (body) => {
      const comment = await newComment(id, commenter, { body: "As it was" });
      expectError(await edit(comment, body, commenter), "VALIDATION_ERROR", "body");
      expect((await stored("comments", comment))?.body).toBe("As it was");
    },
  );
});

describe("deleting a comment", () => {
  it("deletes all replies below it, of any author", async () => {
    const top = await newComment(id, commenter, { body: "Top" });
    const stays = await newComment(id, author, { body: "Stays" });
    let parent = top;
    const chain: string[] = [];
    for (let depth = 0; depth < 12; depth++) {
      parent = await newComment(id, depth % 2 ? author : member, { body: `Level ${depth}`, parent_id: parent });
      chain.push(parent);
      await newComment(id, admin, { body: `Beside ${depth}`, parent_id: parent });
    }
    expect(await commentCount()).toBe(26);
    expectJson(await remove(only(chain[5]), admin), 200, deletedAnswer);
    expect(await commentCount()).toBe(2 + 5 + 5);
    expect(await show(only(chain[4]))).toMatchObject({ reply_count: 1 });
    expectJson(await remove(top, commenter), 200, deletedAnswer);
    expect(bodies((await list()).data)).toEqual(["Stays"]);
    expect(await commentCount()).toBe(1);
    for (const deleted of [top, ...chain]) expectError(await api("GET", `/api/comments/${deleted}`), "NOT_FOUND");
    await show(stays);
    expect(await countMistakes(organization)).toEqual([]);
  });

  it("of a reply decrements its parent's reply count", async () => {
    const parent = await newComment(id, commenter);
    const reply = await newComment(id, commenter, { parent_id: parent });
    expectJson(await remove(reply, commenter), 200, deletedAnswer);
    expect(await show(parent)).toMatchObject({ reply_count: 0 });
  });

  it("returns 404 the second time", async () => {
    const comment = await newComment(id, commenter);
    expectJson(await remove(comment, commenter), 200, deletedAnswer);
    expectError(await remove(comment, commenter), "NOT_FOUND");
  });

  it("is allowed for the author after the edit window", async () => {
    const comment = await newComment(id, commenter, { created_at: new Date(0) });
    expectJson(await remove(comment, commenter), 200, deletedAnswer);
  });
});
