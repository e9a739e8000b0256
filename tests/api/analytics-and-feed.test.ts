import { beforeAll, describe, expect, it } from "vitest";
import { analyticsAnswer } from "../../shared/analytics.ts";
import { eventsAnswer } from "../../shared/change-feed.ts";
import { events } from "../../shared/events.ts";
import type { Scope } from "../../shared/scopes.ts";
import { sql } from "../stack.ts";
import { until } from "../until.ts";
import { api, type Caller, expectError, expectJson, getJson } from "./client.ts";
import { newComment, newKey, newOrganization, newSubmission, newUser, newUsers, type User } from "./world.ts";

const organization = await newOrganization();
const admin = await newUser("Ada", { organization, role: "admin" });
const member = await newUser("Mel", { organization, role: "member" });
const people = await newUsers(3);

describe("analytics", () => {
  const measure = async (query: string, as: Caller = admin) =>
    (await getJson(`/api/admin/analytics?${query}`, analyticsAnswer, { as, on: organization })).data;
  let quiet: string;
  let busyDay: string;

  beforeAll(async () => {
    const [ann, ben, cem] = people as [User, User, User];
    busyDay = await newSubmission(organization, ann, {
      title: "Loud one",
      created_at: new Date("2026-02-02T10:00:00Z"),
    });
    quiet = await newSubmission(organization, ben, {
      title: "Quiet one",
      created_at: new Date("2026-02-10T10:00:00Z"),
    });
    for (const { id } of [ben, cem])
      await sql`insert into public.votes (submission_id, user_id, created_at) values (${busyDay}, ${id}, '2026-02-10T23:30:00Z')`;
    await sql`update public.submissions set source = 'ios-app' where id = ${quiet}`;
    await sql`insert into public.status_changes (submission_id, new_status) values (${quiet}, 'planned')`;
    await newComment(busyDay, cem, { created_at: new Date("2026-02-03T00:00:00Z") });
    await newComment(busyDay, member, { created_at: new Date("2026-02-02T11:00:00Z") });
    await newComment(busyDay, member, { created_at: new Date("2026-02-02T10:30:00Z") });
    await newComment(quiet, admin, { created_at: new Date("2026-02-11T10:00:00Z") });
  });

  it("counts actions, distinct people and current totals", async () => {
    const data = await measure("from=2026-02-01&to=2026-02-28&interval=week");
    expect(data.totals).toEqual({ submissions: 2, votes: 4, comments: 4, active_people: 5 });
    expect(data.series.map(({ start, votes, active_people }) => [start, votes, active_people])).toEqual([
      ["2026-01-26", 0, 0],
      ["2026-02-02", 1, 3],
      ["2026-02-09", 3, 3],
      ["2026-02-16", 0, 0],
      ["2026-02-23", 0, 0],
    ]);
    expect(data.by_status).toEqual([
      { status: "open", submissions: 1 },
      { status: "planned", submissions: 1 },
    ]);
    expect(data.by_source).toEqual([
      { source: "ios-app", submissions: 1 },
      { source: null, submissions: 1 },
    ]);
    expect(data.by_category).toEqual([{ category_id: null, name: null, slug: null, submissions: 2 }]);
    expect(data.top_movers.map(({ title, votes }) => [title, votes])).toEqual([
      ["Loud one", 3],
      ["Quiet one", 1],
    ]);
    // 30 minutes and a day.
    expect(data.first_official_reply).toEqual({ submissions: 2, median_seconds: 44_100, average_seconds: 44_100 });
  });

  it("counts days in the organization's time zone", async () => {
    const votes = async () => (await measure("from=2026-02-10&to=2026-02-11")).series.map((day) => day.votes);
    /** The stack's own schedule may run at the same time. */
    const moveTo = async (zone: string) => {
      await sql`update public.organizations set time_zone = ${zone} where id = ${organization.id}`;
      for (let at = ""; at !== zone; ) {
        await sql`select private.sum_activity()`;
        [{ at } = { at: "" }] = await sql<{ at: string }[]>`select private.activity_zone(${organization.id}) as at`;
      }
    };
    expect(await votes()).toEqual([3, 0]);
    await moveTo("Asia/Kolkata");
    expect(await votes()).toEqual([1, 2]);
    await moveTo("UTC");
    expect((await measure("from=2026-02-10T23:00:00-05:00&to=2026-02-12")).from).toBe("2026-02-11");
  });

  it("shows the last 30 days by default, and no title that the key may not read", async () => {
    const today = () => new Date().toISOString().slice(0, 10);
    const before = today();
    const data = await measure("");
    expect(data.series).toHaveLength(30);
    expect([before, today()]).toContain(data.to);
    await sql`update public.organizations set visibility = 'private' where id = ${organization.id}`;
    const key = await newKey(organization, ["analytics:read"]);
    expect((await measure("from=2026-02-01&to=2026-02-28", key)).top_movers).toEqual([]);
    const reader = await newKey(organization, ["analytics:read", "submissions:read"]);
    expect((await measure("from=2026-02-01&to=2026-02-28", reader)).top_movers).toHaveLength(2);
    await sql`update public.organizations set visibility = 'public' where id = ${organization.id}`;
  });

  it.each([
    ["from=2026-03-01&to=2026-02-01", "from"],
    ["from=1970-01-01&to=2026-02-01&interval=month", "from"],
    ["from=2020-01-01&to=2026-02-01", "from"],
    ["to=2100-01-01", "to"],
  ])("rejects %s", async (query, field) => {
    expectError(
      await api("GET", `/api/admin/analytics?${query}`, { as: admin, on: organization }),
      "VALIDATION_ERROR",
      field,
    );
  });
});

describe("the change feed", () => {
  beforeAll(async () => {
    await newComment(await newSubmission(organization, member), member);
    await sql`update public.organizations set name = 'Followed' where id = ${organization.id}`;
  });

  const read = async (query: string, as: Caller = admin) =>
    await getJson(`/api/admin/events?${query}`, eventsAnswer, { as, on: organization });

  /** All events after a cursor, page by page. */
  async function follow(query: string, after = "", as: Caller = admin) {
    const events: { id: string; event: string; data: unknown }[] = [];
    for (let cursor = after, more = true; more; ) {
      const { data, meta } = await read(`${query}${cursor ? `&after=${cursor}` : ""}`, as);
      events.push(...data);
      cursor = meta.next_cursor;
      more = meta.has_more;
      after = cursor;
    }
    return { heard: events, after };
  }

  /** Waits for the transactions of other tests that run now: the feed shows nothing that committed after them. */
  async function noneIsOlder() {
    const [own] = await sql<{ xid: string }[]>`select pg_current_xact_id()::text as xid`;
    await until(async () => {
      const [oldest] = await sql<{ passed: boolean }[]>`
        select pg_snapshot_xmin(pg_current_snapshot()) > ${own?.xid ?? ""}::xid8 as passed`;
      return oldest?.passed ?? false;
    });
  }

  it("returns every event once, in commit order, in the shapes of the events", async () => {
    await noneIsOlder();
    const { after } = await follow("limit=100");
    const ids = await Promise.all(people.map((person) => newSubmission(organization, person)));
    await sql`insert into public.votes (submission_id, user_id) select ${ids[0] ?? ""}, id from public.profiles where id = any (${people.map(({ id }) => id)}) on conflict do nothing`;
    await noneIsOlder();
    const { heard: received, after: end } = await follow("limit=2", after);
    expect(received.map(({ event }) => event).toSorted()).toEqual([
      ...Array(3).fill("submission.created"),
      ...Array(2).fill("submission.vote_added"),
    ]);
    expect(new Set(received.map(({ id }) => id)).size).toBe(received.length);
    for (const { event, data } of received) events[event as keyof typeof events].parse(data);
    expect(JSON.stringify(received)).not.toMatch(/@/);
    expect((await follow("limit=100", end)).heard).toEqual([]);
  });

  it("includes a transaction that began before others and commits after them", async () => {
    await noneIsOlder();
    let { after } = await follow("limit=100");
    const [person] = people as [User];
    let quick = "";
    await sql.begin(async (transaction) => {
      const slow = { submission_id: organization.id, vote_count: 0 };
      await transaction`
        select private.emit_event(${organization.id}, 'submission.vote_removed', ${organization.id}, ${transaction.json(slow)})`;
      quick = await newSubmission(organization, person);
      const { heard: events, after: cursor } = await follow("limit=100", after);
      expect(events).toEqual([]);
      after = cursor;
    });
    await noneIsOlder();
    const { heard: received } = await follow("limit=100", after);
    expect(received.map(({ event }) => event)).toEqual(["submission.vote_removed", "submission.created"]);
    expect(received[1]?.data).toMatchObject({ submission: { id: quick } });
  });

  it("accepts event names and their aliases", async () => {
    const { heard: events } = await follow("limit=50&types=vote.created,org.updated");
    expect(new Set(events.map(({ event }) => event))).toEqual(new Set(["submission.vote_added", "org.updated"]));
  });

  it.each<[Scope, string[]]>([
    ["submissions:read", ["comment", "submission"]],
    ["organization:write", ["org"]],
    ["members:write", []],
  ])("returns to a key with %s only %j", async (scope, kinds) => {
    const { heard: events } = await follow("limit=100", "", await newKey(organization, [scope]));
    expect([...new Set(events.map(({ event }) => event.split(".")[0]))].toSorted()).toEqual(kinds);
  });

  it("rejects types beyond a key's scopes, and cursors of other organizations", async () => {
    const key = await newKey(organization, ["submissions:read"]);
    expectError(
      await api("GET", "/api/admin/events?types=submission.created,member.joined", { as: key }),
      "FORBIDDEN",
      "types",
    );
    const elsewhere = await newOrganization();
    const stranger = await newUser("Rita", { organization: elsewhere, role: "owner" });
    const { meta } = await read("limit=1");
    const foreign = await api("GET", `/api/admin/events?after=${meta.next_cursor}`, { as: stranger, on: elsewhere });
    expect(expectJson(foreign, 200, eventsAnswer).data).toEqual([]);
  });

  it("returns 410 for a cursor older than the retention, and rejects an invalid cursor", async () => {
    const cursor = (at: string) => Buffer.from(JSON.stringify(["1", "1", at])).toString("base64url");
    const days = (count: number) =>
      `${new Date(Date.now() - count * 86_400_000).toISOString().slice(0, 19).replace("T", " ")}+00`;
    const get = (after: string) => api("GET", `/api/admin/events?after=${after}`, { as: admin, on: organization });
    expectError(await get(cursor(days(30))), "GONE", "after");
    expectJson(await get(cursor(days(29))), 200, eventsAnswer);
    for (const after of [
      "x",
      cursor("2026-99-99 00:00:00+00"),
      cursor("now"),
      Buffer.from("[1]").toString("base64url"),
    ])
      expectError(
        await get(after),
        "VALIDATION_ERROR",
        ...(after === cursor("2026-99-99 00:00:00+00") ? [] : ["after"]),
      );
  });
});
