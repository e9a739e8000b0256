import { randomUUID } from "node:crypto";
import { Agent } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newOrganization, newSubmission, newUsers, type Organization } from "../api/world.ts";
import { cookieHeader } from "../browsers/session.ts";
import { hashedRows } from "../hashed-rows.ts";
import { send } from "../http.ts";
import { raw } from "../raw.ts";
import { sql, stack } from "../stack.ts";
import { adminAreas } from "../web/admin/areas.ts";
import { type AdminArea, type AdminWorld, filled } from "../web/admin/callers.ts";
import { type Person, signedIn } from "../web/pages.ts";

// Attacks on the dashboard by other sites, members and owners of other organizations.

const agent = new Agent({ keepAlive: true });
const origin = new URL(stack.site_url).origin;
const sessionCookie = "sb-127-auth-token";

let world: AdminWorld;
let rivals: Organization;
let owner: Person;
let member: Person;
let rival: Person;

beforeAll(async () => {
  const organization = await newOrganization();
  rivals = await newOrganization();
  owner = await signedIn({ organization, role: "owner" });
  member = await signedIn({ organization, role: "member" });
  rival = await signedIn({ organization: rivals, role: "owner" });
  world = { organization, authorId: member.userId };
});
afterAll(() => agent.destroy());

const forms = adminAreas.flatMap((area) =>
  area.forms.map(([path, fields]): [string, Record<string, string>, AdminArea] => [path, fields, area]),
);
const pages = adminAreas.flatMap((area) => area.pages.map(([path]): [string, AdminArea] => [path, area]));

describe("a form of the dashboard that another site posts", () => {
  const headers: Record<string, string>[] = [
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: "" },
    { origin: `${origin}.evil.example`, referer: `${origin}/admin` },
    { origin: origin.replace(/:\d+$/, ":1") },
  ];

  // One function checks the origin and the type of every form: the first form is tested with every case, the others
  // with one.
  test.each(forms)("%s %j is rejected and changes nothing", async (path, fields, area) => {
    const isFirst = path === forms[0]?.[0];
    const at = `/o/${world.organization.slug}/admin${await filled(path, area, world)}`;
    const body = JSON.parse(await filled(JSON.stringify(fields), area, world));
    // Reading a person's data is logged once an hour.
    await owner.get(at);
    const before = await hashedRows(world.organization);
    for (const sent of isFirst ? headers : headers.slice(0, 1)) {
      const { status } = await owner.post(at, body, sent);
      expect([sent, status]).toEqual([sent, 403]);
    }
    const types = ["text/plain", "application/json", "multipart/form-data; boundary=x"];
    for (const type of isFirst ? types : types.slice(-1)) {
      const { status } = await owner.post(at, { ...body, x: "y" }, { "content-type": type });
      expect([type, status]).toEqual([type, 415]);
    }
    const cookie = cookieHeader([{ name: sessionCookie, value: owner.cookie(sessionCookie) ?? "" }]);
    const encoded = new URLSearchParams(body).toString();
    const type = { "content-type": "application/x-www-form-urlencoded", cookie };
    const bare = await send("POST", stack.site_url + at, { agent, raw: encoded, headers: type });
    expect(bare.status).toBe(403);
    for (const method of ["PUT", "PATCH", "DELETE"]) {
      const answer = await send(method, stack.site_url + at, { agent, raw: encoded, headers: { ...type, origin } });
      expect([method, answer.status]).toEqual([method, 404]);
    }
    await owner.get(`${at}?${encoded}`);
    expect(await hashedRows(world.organization)).toEqual(before);
  });
});

describe("whoever is not of the team", () => {
  test.each(forms)("cannot change a row of it by %s %j in a dashboard of their own", async (path, fields, area) => {
    for (const named of [world.organization.id, rivals.id]) {
      const at = await filled(path, area, world);
      const body = JSON.parse(await filled(JSON.stringify(fields), area, world));
      if ("organization_id" in body) body.organization_id = named;
      const before = await hashedRows(world.organization);
      for (const [of, query] of [
        [`/o/${rivals.slug}`, ""],
        [`/o/${rivals.slug}`, `?organization=${world.organization.slug}`],
      ]) {
        const { status, text } = await rival.post(`${of}/admin${at}${query}`, body);
        expect(status).toBeLessThan(500);
        expect(text).not.toMatch(/Mia Member|Ada Author/);
      }
      expect([at, await hashedRows(world.organization)]).toEqual([at, before]);
    }
  });

  test.each(pages.filter(([path]) => /\/:/.test(path)))("does not see %s there", async (path, area) => {
    const { status } = await rival.get(`/o/${rivals.slug}/admin${await filled(path, area, world)}`);
    expect(status).toBe(404);
  });
});

describe("excessive addresses", () => {
  const bad = [
    "cursor=!",
    "cursor=AAAA",
    `cursor=${Buffer.from('["2026-01-01","x"]').toString("base64url")}`,
    `cursor=${Buffer.from('["infinity","00000000-0000-0000-0000-000000000000"]').toString("base64url")}`,
    `cursor=${Buffer.from('[1e999,"00000000-0000-0000-0000-000000000000"]').toString("base64url")}`,
    "page=0",
    "page=-1",
    "page=1e9",
    "page=99999999999999999999",
    "limit=100000",
    "from=0001-01-01&to=9999-12-31",
    "from=2026-12-31&to=2026-01-01",
    "from=%00",
    "search=%00",
    "search=%25%25%25_",
    "q=%00",
    `q=${"a%20".repeat(400)}`,
    "ids=%00&ids=x",
    "state=%00&type=__proto__",
    "sort=__proto__&order=constructor",
    "done=__proto__&count=99999999999",
    "period=__proto__",
    "days=999999999",
    "lang=__proto__",
    `x=${"y".repeat(30_000)}`,
    Array.from({ length: 3000 }, (_, n) => `ids=${n}`).join("&"),
  ];

  test.each(pages)("%s is no error of ours for any query", async (path, area) => {
    const at = `/o/${world.organization.slug}/admin${await filled(path, area, world)}`;
    for (const query of bad) {
      const { status } = await owner.get(`${at}${at.includes("?") ? "&" : "?"}${query}`);
      expect([query.slice(0, 80), status < 500]).toEqual([query.slice(0, 80), true]);
    }
  });
});

describe("excessive forms", () => {
  test("a survey of very many questions or options is shown no larger than one that can be saved", async () => {
    const path = `/o/${world.organization.slug}/admin/surveys`;
    const options = `questions.0.type=multiple_choice&questions.0.text=x&questions.0.options=${"a%0A".repeat(200_000)}`;
    const questions = Array.from({ length: 2400 }, (_, n) => `questions.${n}.type=nps&questions.${n}.text=x`);
    const arranged = await owner.postRaw(`${path}/new`, `do=add.nps&${options}`);
    expect(arranged.html.querySelectorAll(".survey-preview input").length).toBeLessThan(150);
    for (const body of [options, questions.join("&")]) {
      const { status, html } = await owner.postRaw(path, `title=Many&${body}`);
      expect(status).toBe(422);
      expect(html.querySelectorAll(".question-editor").length).toBeLessThanOrEqual(201);
      expect(html.querySelectorAll(".survey-preview input").length).toBeLessThan(2500);
    }
  });

  test("a file of somebody who may not import it is not waited for", async () => {
    const { host, port } = new URL(stack.site_url);
    const head =
      `POST /o/${world.organization.slug}/admin/import HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${origin}\r\n` +
      `Cookie: ${cookieHeader([{ name: sessionCookie, value: member.cookie(sessionCookie) ?? "" }])}\r\n` +
      "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 60000000\r\nConnection: close\r\n\r\n";
    const part = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nid,title\r\n';
    expect(await raw(head + part + "y".repeat(70_000), { port })).toMatch(/^HTTP\/1\.1 403 /);
  });
});

test("a search of people reads those of the organization, not what all others are called", async () => {
  const name = randomUUID();
  const [mine] = await newUsers(1, `Mine ${name}`);
  await newSubmission(rivals, { id: mine?.id ?? "" });
  await sql`insert into public.profiles (name) select 'Theirs ' || ${name}::text from generate_series(1, 1500)`;
  const path = `/o/${rivals.slug}/admin/people/users?search=${name}`;
  const { html } = await rival.get(path);
  expect(html.querySelectorAll("#people tbody tr").map((row) => row.querySelector("a")?.text.trim())).toEqual([
    `Mine ${name}`,
  ]);
  const probes = await sql.begin(async (transaction) => {
    await transaction`
      select set_config('request.jwt.claims', ${JSON.stringify({ sub: rival.userId, role: "authenticated" })}, true),
        set_config('feedback.organization_id', ${rivals.id}, true), set_config('role', 'authenticated', true)`;
    const [found] = await transaction<{ names: string[] }[]>`
      select array(select p ->> 'name' from json_array_elements(private.admin_search_people(${name})) p) as names`;
    expect(found?.names).toEqual([`Mine ${name}`]);
    const [read] = await transaction<{ probes: number }[]>`
      select sum(idx_scan)::integer as probes from pg_stat_xact_user_tables
      where schemaname = 'public' and relname in ('memberships', 'votes', 'follows')`;
    return read?.probes;
  });
  expect(probes).toBeLessThan(100);
});
