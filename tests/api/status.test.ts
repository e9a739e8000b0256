import { describe, expect, it } from "vitest";
import { statusChangeAnswer, statusChangeListAnswer } from "../../shared/submissions.ts";
import { sql } from "../stack.ts";
import { api, type Caller, expectJson, getJson } from "./client.ts";
import { newKey, newOrganization, newSubmission, newUser, stored } from "./world.ts";

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
  it("is allowed for a key with submissions:moderate, which is recorded as the author", async () => {
    const id = await newIdea();
    const { data } = expectJson(await change(id, { status: "declined" }, moderator), 200, statusChangeAnswer);
    expect(data).toMatchObject({ new_status: "declined", changed_by: "Organization of a test", note: null });
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
});
