import { beforeAll, describe, expect, it } from "vitest";
import { commentAnswer, commentListAnswer } from "../../shared/comments.ts";
import { submissionDetailAnswer, submissionListAnswer } from "../../shared/submissions.ts";
import { sql, stack } from "../stack.ts";
import { answered, api, type Caller, type Method, refused } from "./client.ts";
import {
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

let ours: Board;
let theirs: Board;
let hidden: Board;
let member: User;
let stranger: User;

async function newBoard(visibility: "public" | "private"): Promise<Board> {
  const organization = await newOrganization({ visibility });
  const owner = await newUser("Olga", { organization, role: "owner" });
  const key = await newKey(organization, ["submissions:read", "submissions:write", "submissions:moderate"]);
  const submission = await newSubmission(organization, owner, { title: "Something wanted" });
  return { organization, owner, key, submission, comment: await newComment(submission, owner) };
}

beforeAll(async () => {
  ours = await newBoard("public");
  theirs = await newBoard("public");
  hidden = await newBoard("private");
  member = await newUser("Vic", { organization: hidden.organization, role: "member" });
  stranger = await newUser("Sam");
});

const idea = { title: "Something else wanted", description: longEnough, type: "idea" };
const ids = async (call: Parameters<typeof api>[2], query = "") =>
  answered(await api("GET", `/api/submissions${query}`, call), 200, submissionListAnswer).data.map(
    ({ id }) => id,
  );

describe("the organization of a call", () => {
  it.each([
    ["the header with a slug", ({ slug }: Organization) => ({ headers: { "x-organization": slug } }), ""],
    ["the header with an id", ({ id }: Organization) => ({ headers: { "x-organization": id } }), ""],
    [
      "the header with a slug in capitals",
      ({ slug }: Organization) => ({ headers: { "x-organization": slug.toUpperCase() } }),
      "",
    ],
    [
      "the header with an id in capitals",
      ({ id }: Organization) => ({ headers: { "x-organization": id.toUpperCase() } }),
      "",
    ],
    ["the parameter with a slug", () => ({}), "slug"],
    ["the parameter with an id", () => ({}), "id"],
  ] as const)("is named by %s", async (_, call, parameter) => {
    for (const { organization, submission } of [ours, theirs]) {
      const query = parameter === "" ? "" : `?organization=${organization[parameter]}`;
      expect(await ids(call(organization), query)).toEqual([submission]);
    }
  });

  it("is the header's where the parameter names another", async () => {
    expect(await ids({ on: ours.organization }, `?organization=${theirs.organization.slug}`)).toEqual([
      ours.submission,
    ]);
  });

  it("is the default one where none is named", async () => {
    const list = await ids({});
    expect(list.length).toBeGreaterThan(0);
    expect(list).toEqual(await ids({ headers: { "x-organization": stack.demo?.organization.slug ?? "" } }));
  });

  it("is the default one where the header is empty", async () => {
    expect(await ids({ headers: { "x-organization": "" } })).toEqual(await ids({}));
  });

  it("is the key's own, named or not", async () => {
    for (const { organization, key, submission } of [ours, theirs, hidden]) {
      expect(await ids({ as: key })).toEqual([submission]);
      expect(await ids({ as: key, headers: { "x-organization": organization.slug } })).toEqual([submission]);
      expect(await ids({ as: key }, `?organization=${organization.id}`)).toEqual([submission]);
    }
  });

  it.each([
    "nowhere",
    "00000000-0000-4000-8000-000000000000",
    "no slug",
    "'; --",
    "../..",
    "%",
    "x".repeat(101),
    "x".repeat(4000),
    "null",
  ])("is 404 for %s", async (name) => {
    refused(await api("GET", "/api/submissions", { headers: { "x-organization": name } }), "NOT_FOUND");
    refused(await api("GET", `/api/submissions?organization=${encodeURIComponent(name)}`), "NOT_FOUND");
    refused(
      await api("GET", "/api/submissions", { as: ours.key, headers: { "x-organization": name } }),
      "NOT_FOUND",
    );
  });

  it("is 404 for a name with a NUL", async () => {
    refused(await api("GET", "/api/submissions?organization=a%00b"), "NOT_FOUND");
  });

  it("is that of what a user submits", async () => {
    const answer = await api("POST", "/api/submissions", {
      as: stranger,
      on: theirs.organization,
      body: idea,
    });
    const { data } = answer.body as { data: { id: string } };
    expect(await stored("submissions", data.id)).toMatchObject({ organization_id: theirs.organization.id });
    await sql`delete from public.submissions where id = ${data.id}`;
  });
});

// Everything that names a row by its id, and a body for it.
const rowCalls: [Method, (board: Board) => string, object?][] = [
  ["GET", ({ submission }) => `/api/submissions/${submission}`],
  ["GET", ({ submission }) => `/api/submissions/${submission}?expand=author,category,tags,comments`],
  ["PATCH", ({ submission }) => `/api/submissions/${submission}`, { title: "Taken over" }],
  ["DELETE", ({ submission }) => `/api/submissions/${submission}`],
  ["PATCH", ({ submission }) => `/api/submissions/${submission}/status`, { status: "declined" }],
  ["GET", ({ submission }) => `/api/submissions/${submission}/status-changes`],
  ["GET", ({ submission }) => `/api/submissions/${submission}/voters`],
  ["POST", ({ submission }) => `/api/submissions/${submission}/vote`],
  ["DELETE", ({ submission }) => `/api/submissions/${submission}/vote`],
  ["GET", ({ submission }) => `/api/submissions/${submission}/comments`],
  ["POST", ({ submission }) => `/api/submissions/${submission}/comments`, { body: "Hello" }],
  ["POST", ({ submission }) => `/api/submissions/${submission}/follow`],
  ["DELETE", ({ submission }) => `/api/submissions/${submission}/follow`],
  ["GET", ({ comment }) => `/api/comments/${comment}`],
  ["GET", ({ comment }) => `/api/comments/${comment}?expand=replies`],
  ["PATCH", ({ comment }) => `/api/comments/${comment}`, { body: "Taken over" }],
  ["DELETE", ({ comment }) => `/api/comments/${comment}`],
  ["POST", ({ comment }) => `/api/comments/${comment}/vote`],
  ["DELETE", ({ comment }) => `/api/comments/${comment}/vote`],
  ["GET", ({ organization }) => `/api/organizations/${organization.id}/categories`],
  ["GET", ({ organization }) => `/api/organizations/${organization.id}/tags`],
];
const everything = async ({ organization }: Board) => [
  await sql`select * from public.submissions where organization_id = ${organization.id} order by id`,
  await sql`select * from public.comments where organization_id = ${organization.id} order by id`,
  await sql`select * from public.votes where organization_id = ${organization.id} order by id`,
  await sql`select * from public.follows where organization_id = ${organization.id} order by user_id`,
];

const anyBoard = { submission: ":id", comment: ":id", organization: { id: ":id" } } as Board;

describe.each(rowCalls.map(([method, path, body]) => [method, path(anyBoard), path, body] as const))(
  "%s %s",
  (method, template, path, body) => {
    const call = (board: Board, as?: Caller, on?: Organization) => api(method, path(board), { as, on, body });
    const forPeople =
      template.endsWith("/follow") || (method === "PATCH" && template.startsWith("/api/comments/"));
    const forAnyone = method === "GET" && !template.endsWith("/voters");

    it("by a key of another organization is 404, or not for keys", async () => {
      const before = await everything(theirs);
      const answer = await call(theirs, ours.key);
      refused(answer, forPeople ? "FORBIDDEN" : "NOT_FOUND");
      expect(await everything(theirs)).toEqual(before);
    });

    it("of another organization than the header's is 404", async () => {
      const before = await everything(theirs);
      refused(await call(theirs, theirs.owner, ours.organization), "NOT_FOUND");
      expect(await everything(theirs)).toEqual(before);
    });

    it("of a private board is 404 for strangers, and for nobody", async () => {
      const before = await everything(hidden);
      for (const as of [stranger, ours.owner, ...(forAnyone ? [undefined] : [])]) {
        refused(await call(hidden, as), "NOT_FOUND");
      }
      expect(await everything(hidden)).toEqual(before);
    });
  },
);

describe("a private board", () => {
  it("does not exist for those who are not on its team", async () => {
    for (const as of [undefined, stranger, ours.owner]) {
      for (const path of ["/api/submissions", "/api/submissions/search?q=something"]) {
        refused(await api("GET", path, { as, on: hidden.organization }), "NOT_FOUND");
      }
      refused(
        await api("POST", "/api/submissions/check-duplicates", {
          as,
          on: hidden.organization,
          body: { title: "Something" },
        }),
        "NOT_FOUND",
      );
    }
    refused(
      await api("POST", "/api/submissions", { as: stranger, on: hidden.organization, body: idea }),
      "NOT_FOUND",
    );
    refused(await api("GET", "/api/submissions", { as: ours.key, on: hidden.organization }), "NOT_FOUND");
  });

  it.each([
    ["a member", () => member],
    ["the owner", () => hidden.owner],
    ["a key with submissions:read", () => hidden.key],
  ] as const)("is read by %s", async (_, as) => {
    const caller = as();
    expect(await ids({ as: caller, on: hidden.organization })).toContain(hidden.submission);
    answered(
      await api("GET", `/api/submissions/${hidden.submission}`, { as: caller }),
      200,
      submissionDetailAnswer,
    );
    answered(
      await api("GET", `/api/submissions/${hidden.submission}/comments`, { as: caller }),
      200,
      commentListAnswer,
    );
    answered(await api("GET", `/api/comments/${hidden.comment}`, { as: caller }), 200, commentAnswer);
  });

  it("is voted and commented on by its members", async () => {
    const id = await newSubmission(hidden.organization, hidden.owner);
    expect((await api("POST", `/api/submissions/${id}/vote`, { as: member })).status).toBe(201);
    expect(
      (await api("POST", `/api/submissions/${id}/comments`, { as: member, body: { body: "Inside" } })).status,
    ).toBe(201);
    expect(await stored("submissions", id)).toMatchObject({ vote_count: 2, comment_count: 1 });
  });

  it("is written to by a key that may only write, which reads none of it", async () => {
    const writer = await newKey(hidden.organization, ["submissions:write"]);
    const made = await api("POST", "/api/submissions", {
      as: writer,
      body: { ...idea, author_email: `${crypto.randomUUID()}@example.org` },
    });
    expect(made.status).toBe(201);
    expect(Object.keys(made.body as object)).toEqual(["id", "url"]);
    expect(await ids({ as: writer })).toEqual([]);
    refused(await api("GET", `/api/submissions/${hidden.submission}`, { as: writer }), "NOT_FOUND");
  });

  it("opens and closes with everything on it", async () => {
    const board = await newBoard("private");
    const seen = async () => [
      (await api("GET", "/api/submissions", { on: board.organization })).status,
      (await api("GET", `/api/submissions/${board.submission}`)).status,
      (await api("GET", `/api/comments/${board.comment}`)).status,
    ];
    const turn = (visibility: string) =>
      sql`update public.organizations set visibility = ${visibility} where id = ${board.organization.id}`;
    expect(await seen()).toEqual([404, 404, 404]);
    await turn("public");
    expect(await seen()).toEqual([200, 200, 200]);
    await turn("private");
    expect(await seen()).toEqual([404, 404, 404]);
  });

  it("is closed to who leaves the team, at once", async () => {
    const leaver = await newUser("Lee", { organization: hidden.organization, role: "admin" });
    expect(await ids({ as: leaver, on: hidden.organization })).toContain(hidden.submission);
    await sql`delete from public.memberships where user_id = ${leaver.id}`;
    refused(await api("GET", "/api/submissions", { as: leaver, on: hidden.organization }), "NOT_FOUND");
    refused(await api("GET", `/api/submissions/${hidden.submission}`, { as: leaver }), "NOT_FOUND");
  });

  it("takes its rows out of what a former member is shown of themselves", async () => {
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

describe("the team of one organization", () => {
  it("are strangers to another", async () => {
    const as = ours.owner;
    const { submission, comment } = theirs;
    refused(
      await api("PATCH", `/api/submissions/${submission}`, { as, body: { title: "Taken over" } }),
      "FORBIDDEN",
    );
    refused(await api("DELETE", `/api/submissions/${submission}`, { as }), "FORBIDDEN");
    refused(
      await api("PATCH", `/api/submissions/${submission}/status`, { as, body: { status: "declined" } }),
      "FORBIDDEN",
    );
    refused(await api("GET", `/api/submissions/${submission}/voters`, { as }), "FORBIDDEN");
    refused(await api("DELETE", `/api/comments/${comment}`, { as }), "FORBIDDEN");
  });

  it("have no badge on another's board", async () => {
    const id = await newSubmission(theirs.organization, ours.owner);
    const { data } = answered(
      await api("GET", `/api/submissions/${id}?expand=author`),
      200,
      submissionDetailAnswer,
    );
    expect(data.author?.is_team_member).toBe(false);
    await sql`delete from public.submissions where id = ${id}`;
  });

  it("can use nobody else's taxonomy", async () => {
    const [category] = await sql<[{ id: string }]>`
      insert into public.categories (organization_id, name, slug) values (${ours.organization.id}, 'Ours', 'ours') returning id`;
    const call = { as: theirs.owner, on: theirs.organization };
    refused(
      await api("POST", "/api/submissions", { ...call, body: { ...idea, category_id: category.id } }),
      "VALIDATION_ERROR",
      "category_id",
    );
    refused(
      await api("PATCH", `/api/submissions/${theirs.submission}`, {
        ...call,
        body: { category_id: category.id },
      }),
      "VALIDATION_ERROR",
      "category_id",
    );
    expect(await ids(call, `?category=${category.id}`)).toEqual([]);
  });
});
