import { beforeAll, describe, expect, it } from "vitest";
import {
  statusChangeAnswer,
  statusChangeListAnswer,
  submissionDetailAnswer,
  submissionStatuses,
} from "../../shared/submissions.ts";
import { sql } from "../stack.ts";
import { answered, api, type Caller, refused } from "./client.ts";
import {
  type Key,
  merge,
  newKey,
  newOrganization,
  newSubmission,
  newUser,
  type Organization,
  stored,
  type User,
} from "./world.ts";

let organization: Organization;
let author: User;
let admin: User;
let member: User;
let stranger: User;
let moderator: Key;
let writer: Key;

beforeAll(async () => {
  organization = await newOrganization();
  author = await newUser("Ada");
  admin = await newUser("Adam Admin", { organization, role: "admin" });
  member = await newUser("Mia", { organization, role: "member" });
  stranger = await newUser("Sam");
  moderator = await newKey(organization, ["submissions:moderate"]);
  writer = await newKey(organization, ["submissions:write", "submissions:read"]);
});

const change = (id: string, body: unknown, as?: Caller) =>
  api("PATCH", `/api/submissions/${id}/status`, { as, body });
const history = async (id: string, as?: Caller) =>
  answered(await api("GET", `/api/submissions/${id}/status-changes`, { as }), 200, statusChangeListAnswer)
    .data;
const made = () => newSubmission(organization, author);
const told = (id: string) => sql<{ user_id: string; type: string }[]>`
  select user_id, type from public.notifications where submission_id = ${id}`;
const events = (id: string) => sql<{ data: object }[]>`
  select data from private.outbox where subject_id = ${id} and type = 'submission.status_changed' order by xid, id`;

describe("changing the status", () => {
  const settable = submissionStatuses.filter((status) => status !== "duplicate");
  const moves = settable.flatMap((from) =>
    settable.filter((to) => to !== from).map((to) => [from, to] as const),
  );

  it.each(moves)("from %s to %s", async (from, to) => {
    const id = await made();
    if (from !== "open") await change(id, { status: from }, admin);
    const { data } = answered(
      await change(id, { status: to, note: "Because" }, admin),
      200,
      statusChangeAnswer,
    );
    expect(data).toEqual({
      submission_id: id,
      previous_status: from,
      new_status: to,
      changed_by: "Adam Admin",
      note: "Because",
      changed_at: expect.any(String),
    });
    expect(await stored("submissions", id)).toMatchObject({ status: to });
    expect((await history(id))[0]).toEqual(data);
  });

  it.each([
    ["nobody", (): undefined => undefined, "UNAUTHORIZED"],
    ["the author", () => author, "FORBIDDEN"],
    ["a stranger", () => stranger, "FORBIDDEN"],
    ["a member", () => member, "FORBIDDEN"],
    ["a key without submissions:moderate", () => writer, "FORBIDDEN"],
  ] as const)("is not for %s", async (_, as, code) => {
    const id = await made();
    refused(await change(id, { status: "planned" }, as()), code);
    expect(await stored("submissions", id)).toMatchObject({ status: "open" });
    expect(await history(id)).toEqual([]);
  });

  it("is for a key with submissions:moderate, under its own name", async () => {
    const id = await made();
    const { data } = answered(await change(id, { status: "declined" }, moderator), 200, statusChangeAnswer);
    expect(data).toMatchObject({ new_status: "declined", changed_by: "Key of a test", note: null });
  });

  it("to what it is already changes nothing and tells nobody", async () => {
    const id = await made();
    await change(id, { status: "planned" }, admin);
    const before = await stored("submissions", id);
    const { data } = answered(
      await change(id, { status: "planned", note: "Again" }, admin),
      200,
      statusChangeAnswer,
    );
    expect(data).toMatchObject({ submission_id: id, previous_status: "planned", new_status: "planned" });
    expect(await stored("submissions", id)).toEqual(before);
    expect(await history(id)).toHaveLength(1);
    expect([(await events(id)).length, (await told(id)).length]).toEqual([1, 1]);
  });

  it("tells followers, and not who changed it", async () => {
    const id = await made();
    for (const as of [admin, stranger]) await api("POST", `/api/submissions/${id}/follow`, { as });
    await change(id, { status: "planned" }, admin);
    const rows = await told(id);
    expect(rows.map(({ user_id }) => user_id).sort()).toEqual([author.id, stranger.id].sort());
    expect(new Set(rows.map(({ type }) => type))).toEqual(new Set(["status_changed"]));
  });

  it("with notify: false tells nobody, but is announced", async () => {
    const id = await made();
    answered(
      await change(id, { status: "planned", notify: false, note: "Quietly" }, admin),
      200,
      statusChangeAnswer,
    );
    expect(await told(id)).toHaveLength(0);
    expect((await events(id)).map(({ data }) => data)).toEqual([
      {
        submission_id: id,
        previous_status: "open",
        new_status: "planned",
        changed_by: "Adam Admin",
        note: "Quietly",
      },
    ]);
  });

  it.each([
    ["no status", {}, "status"],
    ["null", { status: null }, "status"],
    ["an unknown status", { status: "done" }, "status"],
    ["capitals", { status: "Planned" }, "status"],
    ["duplicate, which is for merges", { status: "duplicate" }, "status"],
    ["a note of 2001", { status: "planned", note: "x".repeat(2001) }, "note"],
    ["a note that is a number", { status: "planned", note: 1 }, "note"],
    ["notify that is text", { status: "planned", notify: "yes" }, "notify"],
  ])("refuses %s", async (_, body, field) => {
    const id = await made();
    refused(await change(id, body, admin), "VALIDATION_ERROR", field);
    expect(await history(id)).toEqual([]);
  });

  it.each([
    ["no note", undefined, null],
    ["a null note", null, null],
    ["an empty note", "", null],
    ["a blank note", "  \n ", null],
    ["a note of 2000 emoji", "😀".repeat(2000), "😀".repeat(2000)],
    ["a note with blanks around", "  why  ", "why"],
  ])("takes %s", async (_, note, kept) => {
    const { data } = answered(
      await change(await made(), { status: "planned", note }, admin),
      200,
      statusChangeAnswer,
    );
    expect(data.note).toBe(kept);
  });

  it("of a merged submission names where it went", async () => {
    const [source, target] = [await made(), await made()];
    await merge(source, target);
    expect(refused(await change(source, { status: "open" }, admin), "SUBMISSION_MERGED").merged_into_id).toBe(
      target,
    );
  });

  it.each(["00000000-0000-4000-8000-000000000000", "nonsense"])("of %s is 404", async (id) => {
    refused(await change(id, { status: "planned" }, admin), "NOT_FOUND");
  });

  it("cannot be had by creating or editing", async () => {
    const id = await made();
    answered(
      await api("PATCH", `/api/submissions/${id}`, {
        as: admin,
        body: { title: "A new title", status: "planned" },
      }),
      200,
      submissionDetailAnswer,
    );
    expect(await stored("submissions", id)).toMatchObject({ status: "open" });
  });
});

describe("the history of a status", () => {
  it("is public, newest first", async () => {
    const id = await made();
    for (const status of ["planned", "in_progress", "completed"])
      await change(id, { status, note: `Now ${status}` }, admin);
    const steps = await history(id);
    expect(steps.map(({ previous_status, new_status, note }) => [previous_status, new_status, note])).toEqual(
      [
        ["in_progress", "completed", "Now completed"],
        ["planned", "in_progress", "Now in_progress"],
        ["open", "planned", "Now planned"],
      ],
    );
    expect(await history(id, stranger)).toEqual(steps);
  });

  it("is empty for a new submission, and 404 for none", async () => {
    expect(await history(await made())).toEqual([]);
    for (const id of ["00000000-0000-4000-8000-000000000000", "nonsense"]) {
      refused(await api("GET", `/api/submissions/${id}/status-changes`), "NOT_FOUND");
    }
  });
});
