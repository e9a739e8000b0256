import { describe, expect, it } from "vitest";
import {
  statusChangeAnswer,
  statusChangeListAnswer,
  submissionDetailAnswer,
  submissionStatuses,
} from "../../shared/submissions.ts";
import { sql } from "../stack.ts";
import { api, type Caller, expectError, expectJson, getJson } from "./client.ts";
import { merge, newKey, newOrganization, newSubmission, newUser, stored } from "./world.ts";

const organization = await newOrganization();
const author = await newUser("Ada");
const admin = await newUser("Adam Admin", { organization, role: "admin" });
const stranger = await newUser("Sam");
const moderator = await newKey(organization, ["submissions:moderate"]);

const change = (id: string, body: unknown, as?: Caller) => api("PATCH", `/api/submissions/${id}/status`, { as, body });
const history = async (id: string, as?: Caller) =>
  (await getJson(`/api/submissions/${id}/status-changes`, statusChangeListAnswer, { as })).data;
const newIdea = () => newSubmission(organization, author);
const notificationsOf = (id: string) => sql<{ user_id: string; type: string }[]>`
  select user_id, type from public.notifications where submission_id = ${id}`;
const events = (id: string) => sql<{ data: object }[]>`
  select data from private.outbox where subject_id = ${id} and type = 'submission.status_changed' order by xid, id`;

describe("changing the status", () => {
  const settable = submissionStatuses.filter((status) => status !== "duplicate");
  const moves = settable.flatMap((from) => settable.filter((to) => to !== from).map((to) => [from, to] as const));

  it.each(moves)("from %s to %s", async (from, to) => {
    const id = await newIdea();
    if (from !== "open") await change(id, { status: from }, admin);
    const { data } = expectJson(await change(id, { status: to, note: "Because" }, admin), 200, statusChangeAnswer);
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

  it("is allowed for a key with submissions:moderate, which is recorded as the author", async () => {
    const id = await newIdea();
    const { data } = expectJson(await change(id, { status: "declined" }, moderator), 200, statusChangeAnswer);
    expect(data).toMatchObject({ new_status: "declined", changed_by: "Key of a test", note: null });
  });

  it("to the current status changes nothing and notifies nobody", async () => {
    const id = await newIdea();
    await change(id, { status: "planned" }, admin);
    const before = await stored("submissions", id);
    const { data } = expectJson(await change(id, { status: "planned", note: "Again" }, admin), 200, statusChangeAnswer);
    expect(data).toMatchObject({ submission_id: id, previous_status: "planned", new_status: "planned" });
    expect(await stored("submissions", id)).toEqual(before);
    expect(await history(id)).toHaveLength(1);
    expect([(await events(id)).length, (await notificationsOf(id)).length]).toEqual([1, 1]);
  });

  it("notifies followers, except the one who changed it", async () => {
    const id = await newIdea();
    for (const as of [admin, stranger]) await api("POST", `/api/submissions/${id}/follow`, { as });
    await change(id, { status: "planned" }, admin);
    const rows = await notificationsOf(id);
    expect(rows.map(({ user_id }) => user_id).sort()).toEqual([author.id, stranger.id].sort());
    expect(new Set(rows.map(({ type }) => type))).toEqual(new Set(["status_changed"]));
  });

  it("with notify: false notifies nobody, but publishes the event", async () => {
    const id = await newIdea();
    expectJson(await change(id, { status: "planned", notify: false, note: "Quietly" }, admin), 200, statusChangeAnswer);
    expect(await notificationsOf(id)).toHaveLength(0);
    expect((await events(id)).map(({ data }) => data)).toEqual([
      { submission_id: id, previous_status: "open", new_status: "planned", changed_by: "Adam Admin", note: "Quietly" },
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
  ])("rejects %s", async (_, body, field) => {
    const id = await newIdea();
    expectError(await change(id, body, admin), "VALIDATION_ERROR", field);
    expect(await history(id)).toEqual([]);
  });

  it.each([
    ["no note", undefined, null],
    ["a null note", null, null],
    ["an empty note", "", null],
    ["a blank note", "  \n ", null],
    ["a note of 2000 emoji", "😀".repeat(2000), "😀".repeat(2000)],
    ["a note with blanks around", "  why  ", "why"],
  ])("accepts %s", async (_, note, expected) => {
    const { data } = expectJson(
      await change(await newIdea(), { status: "planned", note }, admin),
      200,
      statusChangeAnswer,
    );
    expect(data.note).toBe(expected);
  });

  it("of a merged submission returns the id of the target", async () => {
    const [source, target] = [await newIdea(), await newIdea()];
    await merge(source, target);
    expect(expectError(await change(source, { status: "open" }, admin), "SUBMISSION_MERGED").merged_into_id).toBe(
      target,
    );
  });

  it("is not possible by creating or editing", async () => {
    const id = await newIdea();
    expectJson(
      await api("PATCH", `/api/submissions/${id}`, { as: admin, body: { title: "A new title", status: "planned" } }),
      200,
      submissionDetailAnswer,
    );
    expect(await stored("submissions", id)).toMatchObject({ status: "open" });
  });
});

describe("the history of a status", () => {
  it("is public, newest first", async () => {
    const id = await newIdea();
    for (const status of ["planned", "in_progress", "completed"])
      await change(id, { status, note: `Now ${status}` }, admin);
    const steps = await history(id);
    expect(steps.map(({ previous_status, new_status, note }) => [previous_status, new_status, note])).toEqual([
      ["in_progress", "completed", "Now completed"],
      ["planned", "in_progress", "Now in_progress"],
      ["open", "planned", "Now planned"],
    ]);
    expect(await history(id, stranger)).toEqual(steps);
  });

  it("is empty for a new submission, and returns 404 for an unknown one", async () => {
    expect(await history(await newIdea())).toEqual([]);
    for (const id of ["00000000-0000-4000-8000-000000000000", "nonsense"]) {
      expectError(await api("GET", `/api/submissions/${id}/status-changes`), "NOT_FOUND");
    }
  });
});
