import { describe, expect, it } from "vitest";
import { submissionListAnswer } from "../../shared/submissions.ts";
import { sql, stack } from "../stack.ts";
import { api, expectError, getJson } from "./client.ts";
import {
  countMistakes,
  type Key,
  longEnough,
  newComment,
  newKey,
  newOrganization,
  newSubmission,
  newUser,
  type Organization,
  stored,
  type User,
} from "./world.ts";

type Board = { organization: Organization; owner: User; key: Key; submission: string; comment: string };

async function newBoard(visibility: "public" | "private"): Promise<Board> {
  const organization = await newOrganization({ visibility });
  const owner = await newUser("Olga", { organization, role: "owner" });
  const key = await newKey(organization, ["submissions:read", "submissions:write", "submissions:moderate"]);
  const submission = await newSubmission(organization, owner, { title: "Something wanted" });
  return { organization, owner, key, submission, comment: await newComment(submission, owner) };
}
const own = await newBoard("public");
const foreign = await newBoard("public");
const hidden = await newBoard("private");
const member = await newUser("Vic", { organization: hidden.organization, role: "member" });
const stranger = await newUser("Sam");

const idea = { title: "Something else wanted", description: longEnough, type: "idea" };
const ids = async (call: Parameters<typeof api>[2], query = "") =>
  (await getJson(`/api/submissions${query}`, submissionListAnswer, call)).data.map(({ id }) => id);

describe("the organization of a request", () => {
  it("is selected by its former slug too", async () => {
    const { organization, key, submission } = await newBoard("public");
    await sql`update public.organizations set slug = ${`${organization.slug}-new`} where id = ${organization.id}`;
    expect(await ids({ on: organization }, `?organization=${organization.slug}`)).toEqual([submission]);
    expect(await ids({ as: key, headers: { "x-organization": organization.slug.toUpperCase() } })).toEqual([
      submission,
    ]);
  });

  it("is the default one when none is given, or the header is empty", async () => {
    // The oldest: other files add to the demo at the same time.
    const oldest = "?sort=created_at&order=asc&limit=20";
    const list = await ids({}, oldest);
    expect(list).toHaveLength(20);
    expect(await ids({ headers: { "x-organization": "" } }, oldest)).toEqual(list);
    expect(list).toEqual(await ids({ headers: { "x-organization": stack.demo?.organization.slug ?? "" } }, oldest));
  });

  it("is the one that is named, if header or parameter is empty", async () => {
    const headers = { "x-organization": "" };
    const { organization, submission } = foreign;
    for (const query of [`?organization=${organization.slug}`, `?organization=&organiz%61tion=${organization.id}`]) {
      expect(await ids({ headers }, query)).toEqual([submission]);
      expectError(await api("GET", `/api/submissions${query}`, { as: own.key, headers }), "NOT_FOUND");
    }
    expect(await ids({ on: organization }, "?organization=&organization=%20")).toEqual([submission]);
  });
});

describe("a private board", () => {
  it("answers at its former slug like at one that nobody ever had", async () => {
    const { organization } = await newBoard("private");
    await sql`update public.organizations set slug = ${`${organization.slug}-new`} where id = ${organization.id}`;
    for (const as of [undefined, stranger, own.owner]) {
      const answer = (slug: string) => api("GET", "/api/submissions", { as, headers: { "x-organization": slug } });
      const former = await answer(organization.slug);
      const unknown = await answer(`${organization.slug}-nobody`);
      expectError(former, "NOT_FOUND");
      expect(former.body).toEqual(unknown.body);
    }
  });

  it("accepts votes and comments of its members", async () => {
    const id = await newSubmission(hidden.organization, hidden.owner);
    expect((await api("POST", `/api/submissions/${id}/vote`, { as: member })).status).toBe(201);
    expect(
      (await api("POST", `/api/submissions/${id}/comments`, { as: member, body: { body: "Inside" } })).status,
    ).toBe(201);
    expect(await stored("submissions", id)).toMatchObject({ vote_count: 2, comment_count: 1 });
  });

  it("accepts writes of a key without read access, which reads nothing of it", async () => {
    const writer = await newKey(hidden.organization, ["submissions:write"]);
    const created = await api("POST", "/api/submissions", {
      as: writer,
      body: { ...idea, author_email: `${crypto.randomUUID()}@example.org` },
    });
    expect(created.status).toBe(201);
    expect(Object.keys(created.body as object)).toEqual(["id", "url"]);
    expect(await ids({ as: writer })).toEqual([]);
    expectError(await api("GET", `/api/submissions/${hidden.submission}`, { as: writer }), "NOT_FOUND");
  });

  it("becomes public and private with all its content", async () => {
    const board = await newBoard("private");
    const seen = async () => [
      (await api("GET", "/api/submissions", { on: board.organization })).status,
      (await api("GET", `/api/submissions/${board.submission}`)).status,
      (await api("GET", `/api/comments/${board.comment}`)).status,
    ];
    const setVisibility = (visibility: string) =>
      sql`update public.organizations set visibility = ${visibility} where id = ${board.organization.id}`;
    expect(await seen()).toEqual([404, 404, 404]);
    await setVisibility("public");
    expect(await seen()).toEqual([200, 200, 200]);
    await setVisibility("private");
    expect(await seen()).toEqual([404, 404, 404]);
    expect(await countMistakes(board.organization)).toEqual([]);
  });

  it("is closed to a removed member immediately", async () => {
    const leaver = await newUser("Lee", { organization: hidden.organization, role: "admin" });
    expect(await ids({ as: leaver, on: hidden.organization })).toContain(hidden.submission);
    await sql`delete from public.memberships where user_id = ${leaver.id}`;
    expectError(await api("GET", "/api/submissions", { as: leaver, on: hidden.organization }), "NOT_FOUND");
    expectError(await api("GET", `/api/submissions/${hidden.submission}`, { as: leaver }), "NOT_FOUND");
  });

  it("is left out of a former member's own lists", async () => {
    const board = await newBoard("private");
    const leaver = await newUser("Lee", { organization: board.organization, role: "member" });
    await api("POST", `/api/submissions/${board.submission}/vote`, { as: leaver });
    await api("POST", `/api/submissions/${board.submission}/follow`, { as: leaver });
    await newComment(board.submission, board.owner);
    await sql`delete from public.memberships where user_id = ${leaver.id}`;
    for (const path of ["/api/me/votes", "/api/me/notifications"]) {
      expect((await api("GET", path, { as: leaver })).body).toEqual({ data: [], meta: { total: 0 } });
    }
  });
});
