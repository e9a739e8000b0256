import { describe, expect, test } from "vitest";
import { formatDay, formatMinute, formatMoment, localTime, momentOf } from "../../functions/web/format.ts";
import { api, expectError } from "../api/client.ts";
import { detailOf, newDraft, newSurvey, respond } from "../api/survey-world.ts";
import { newComment, newOrganization, newSubmission, newTeam, newUser } from "../api/world.ts";
import { sql } from "../stack.ts";
import { newVisitor, signedIn } from "./pages.ts";

/** An organization in a time zone, and its owner. */
async function boardIn(timeZone: string) {
  const organization = await newOrganization();
  await sql`update public.organizations set time_zone = ${timeZone} where id = ${organization.id}`;
  return { organization, owner: await signedIn({ organization, role: "owner" }), base: `/o/${organization.slug}` };
}

const english = { "accept-language": "en" };
const timesIn = ({ html }: { html: ReturnType<typeof import("node-html-parser").parse> }) =>
  html.querySelectorAll("time").map((time) => [time.getAttribute("datetime"), time.text]);

describe("what clocks show", () => {
  test.each([
    ["Europe/Berlin", "2027-01-15T12:00", "2027-01-15T11:00:00.000Z"],
    ["Europe/Berlin", "2027-07-15T00:00", "2027-07-14T22:00:00.000Z"],
    ["Asia/Kathmandu", "2027-01-15T00:00", "2027-01-14T18:15:00.000Z"],
    ["Pacific/Chatham", "2027-01-15T00:00", "2027-01-14T10:15:00.000Z"],
    ["America/St_Johns", "2027-01-15T23:59:59", "2027-01-16T03:29:59.000Z"],
    ["Pacific/Kiritimati", "2027-01-01T00:00", "2026-12-31T10:00:00.000Z"],
    ["UTC", "2024-02-29T12:00", "2024-02-29T12:00:00.000Z"],
    // Skipped: half past two becomes half past three.
    ["Europe/Berlin", "2027-03-28T02:30", "2027-03-28T01:30:00.000Z"],
    ["America/New_York", "2027-03-14T02:00", "2027-03-14T07:00:00.000Z"],
    // Half an hour, and at midnight.
    ["Australia/Lord_Howe", "2027-10-03T02:15", "2027-10-02T15:45:00.000Z"],
    ["America/Santiago", "2027-09-05T00:00", "2027-09-05T04:00:00.000Z"],
    // Shown twice: the first.
    ["Europe/Berlin", "2027-10-31T02:30", "2027-10-31T00:30:00.000Z"],
    ["America/St_Johns", "2027-11-07T01:30", "2027-11-07T04:00:00.000Z"],
    // A day that did not exist.
    ["Pacific/Apia", "2011-12-30T12:00", "2011-12-30T22:00:00.000Z"],
  ])("in %s at %s is the moment %s", (zone, local, moment) => {
    expect(new Date(momentOf(local, zone)).toISOString()).toBe(moment);
  });

  test("is no moment if it is no time", () => {
    for (const local of ["soon", "2027-13-01T00:00", ""]) expect(momentOf(local, "Asia/Tokyo")).toBeNaN();
  });

  test.each([
    ["Asia/Kathmandu", "2027-01-14T18:14:59Z", "2027-01-14T23:59:59", "Jan 14, 2027"],
    ["Asia/Kathmandu", "2027-01-14T18:15:00Z", "2027-01-15T00:00:00", "Jan 15, 2027"],
    ["Pacific/Chatham", "2026-12-31T10:15:00Z", "2027-01-01T00:00:00", "Jan 1, 2027"],
    ["America/St_Johns", "2027-01-01T03:29:00Z", "2026-12-31T23:59:00", "Dec 31, 2026"],
    // Of Postgres, unknown to Intl.
    ["MESZ", "2027-01-01T23:30:00Z", "2027-01-01T23:30:00", "Jan 1, 2027"],
  ])("in %s at %s is %s, on %s", (zone, at, local, day) => {
    expect(localTime(new Date(at), zone)).toBe(local);
    expect(formatDay(new Date(at), "en", zone)).toBe(day);
  });

  test("is written with its time zone", () => {
    const at = new Date("2027-01-14T18:15:00Z");
    const plain = (text: string) => text.replace(/\s/g, " ");
    expect(plain(formatMoment(at, "en", "Asia/Kathmandu"))).toBe("Jan 15, 2027, 12:00:00 AM GMT+5:45");
    expect(plain(formatMinute(at, "en", "America/New_York"))).toBe("Jan 14, 2027, 1:15 PM EST");
    expect(plain(formatMinute(at, "de", "Europe/Berlin"))).toBe("14. Jan. 2027, 19:15 MEZ");
  });
});

test("a time zone is one that Postgres and the pages know", async () => {
  const { path, owner } = await newTeam();
  for (const time_zone of ["MESZ", "UTC+3", "GMT+5", "Mars/Olympus", "+05:30", ""])
    expectError(await api("PATCH", path, { as: owner, body: { time_zone } }), "VALIDATION_ERROR", "time_zone");
  for (const time_zone of ["Asia/Kathmandu", "Pacific/Chatham", "America/St_Johns", "Etc/GMT+12", "UTC"])
    expect((await api("PATCH", path, { as: owner, body: { time_zone } })).status).toBe(200);
});

describe("the pages of a board", () => {
  const at = "2024-05-06T06:30:00.000Z";

  test.each([
    ["America/Los_Angeles", "May 5, 2024"],
    ["Asia/Kathmandu", "May 6, 2024"],
    ["Pacific/Kiritimati", "May 6, 2024"],
    ["Pacific/Pago_Pago", "May 5, 2024"],
    ["UTC", "May 6, 2024"],
  ])("in %s show the day %s", async (zone, day) => {
    const { organization, owner, base } = await boardIn(zone);
    const author = await newUser();
    const id = await newSubmission(organization, author, { created_at: new Date(at) });
    await newComment(id, author, { created_at: new Date(at) });
    const visitor = newVisitor();
    for (const path of [base, `/embed${base}`]) expect(timesIn(await visitor.get(path, english))).toEqual([[at, day]]);
    const { location } = await visitor.get(`/submissions/${id}`);
    const shown = timesIn(await visitor.get(location ?? "", english));
    expect(shown.length).toBeGreaterThan(2);
    expect(new Set(shown.map(String))).toEqual(new Set([String([at, day])]));
    expect(timesIn(await owner.get(`${base}/admin/submissions`, english))).toContainEqual([at, day]);
  });

  test("write exact times with the zone", async () => {
    const { organization, owner, base } = await boardIn("Asia/Kathmandu");
    await sql`insert into private.audit_log (organization_id, actor_id, action, target_type, details, created_at)
      values (${organization.id}, ${owner.userId}, 'tag.create', 'tag', '{}', ${at})`;
    const [entry] = timesIn(await owner.get(`${base}/admin/audit?to=2024-12-31`, english));
    expect(entry?.map((text) => text?.replace(/\s/g, " "))).toEqual([at, "May 6, 2024, 12:15:00 PM GMT+5:45"]);
  });

  test("offer ends of keys that are ends of days", async () => {
    const { owner, base } = await boardIn("Pacific/Chatham");
    const { html } = await owner.get(`${base}/admin/settings/api-keys/new`, english);
    const ends = html.querySelectorAll("#expires_at option").flatMap((option) => option.getAttribute("value") || []);
    expect(ends).toHaveLength(3);
    for (const end of ends) expect(localTime(new Date(end), "Pacific/Chatham")).toMatch(/T23:59:59$/);
  });
});

describe("a survey", () => {
  test("closes when clocks of the organization show the time of the builder", async () => {
    const { organization, owner, base } = await boardIn("America/Los_Angeles");
    const admin = await newUser("Ada", { organization, role: "admin" });
    const { id } = await newDraft(admin, organization);
    const path = `${base}/admin/surveys/${id}`;
    const save = async (closes_at: string) => {
      const { html } = await owner.get(`${path}/edit`, english);
      expect(html.querySelector("#closes_at-hint")?.text).toContain("America/Los_Angeles");
      const time_zone = html.querySelector("input[name=time_zone]")?.getAttribute("value") ?? "";
      const question = { "questions.0.type": "text", "questions.0.text": "What is missing?" };
      const saved = await owner.post(`${path}/edit`, {
        title: "A survey",
        ...question,
        closes_at,
        time_zone,
        _method: "patch",
      });
      expect(saved.status).toBe(303);
      return (await detailOf(id, admin)).closes_at;
    };
    expect(Date.parse((await save("2098-11-30T23:59")) ?? "")).toBe(Date.parse("2098-12-01T07:59:00Z"));
    const { html } = await owner.get(`${path}/edit`);
    expect(html.querySelector("#closes_at")?.getAttribute("value")).toBe("2098-11-30T23:59");
    // Saved again without a change.
    expect(Date.parse((await save("2098-11-30T23:59")) ?? "")).toBe(Date.parse("2098-12-01T07:59:00Z"));
    await sql`update public.surveys set status = 'published' where id = ${id}`;
    expect((await newVisitor().get(`/surveys/${id}`, english)).text).toContain("Open until Nov 30, 2098");
    expect(timesIn(await owner.get(path, english))[0]?.[1]?.replace(/\s/g, " ")).toBe("Nov 30, 2098, 11:59 PM PST");
  });

  test("shows and filters responses by days of the organization; the API by days of UTC", async () => {
    const { organization, owner, base } = await boardIn("Pacific/Chatham");
    const admin = await newUser("Ada", { organization, role: "admin" });
    const survey = await newSurvey(admin, organization, { questions: [{ type: "text", text: "What is missing?" }] });
    // Clocks there went ahead on September 27, 2026, from 2:45 to 3:45: 12:45 before, 13:45 after.
    const moments = ["2026-09-26T11:14:59Z", "2026-09-26T11:15:00Z", "2026-09-27T10:14:59Z", "2026-09-27T10:15:00Z"];
    for (const moment of moments) {
      expect((await respond(survey, await newUser(), { 0: `At ${moment}` })).status).toBe(201);
      await sql`update public.survey_responses set started_at = null, submitted_at = ${moment}
        where survey_id = ${survey.id} and answers::text like ${`%${moment}%`}`;
    }
    const path = `${base}/admin/surveys/${survey.id}`;
    const day = "start_date=2026-09-27&end_date=2026-09-27";
    const onPage = async (of: string) =>
      timesIn(await owner.get(`${path}/${of}?${day}`, english)).map(([at]) => Date.parse(at ?? ""));
    const ofTheDay = [moments[2], moments[1]].map((moment) => Date.parse(moment ?? ""));
    expect(await onPage("responses")).toEqual(ofTheDay);
    expect(await onPage("texts")).toEqual(ofTheDay);
    const csv = (await owner.get(`${path}/responses.csv?${day}`)).text;
    expect(moments.map((moment) => csv.includes(moment))).toEqual([false, true, true, false]);
    const listed = await api("GET", `/api/surveys/${survey.id}/responses?${day}`, { as: admin });
    expect((listed.body as { data: unknown[] }).data).toHaveLength(2);
    const plot = (await owner.get(path, english)).html.querySelectorAll("#responses-by-time-numbers tbody tr");
    expect(plot.map((row) => row.text.replace(/\s+/g, " ").trim())).toEqual([
      expect.stringContaining("Sep 26, 2026"),
      expect.stringContaining("Sep 27, 2026"),
      expect.stringContaining("Sep 28, 2026"),
    ]);
    expect(plot.map((row) => row.querySelector("td")?.text)).toEqual(["1", "2", "1"]);
  });
});
