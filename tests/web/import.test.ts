import { randomUUID } from "node:crypto";
import { Agent } from "node:http";
import { connect } from "node:net";
import { parse } from "node-html-parser";
import { beforeAll, describe, expect, test } from "vitest";
import { messagesOf } from "../../functions/words/index.ts";
import { joinTeam, newOrganization, newSubmission, type Organization, only } from "../api/world.ts";
import { send } from "../http.ts";
import { sql, stack } from "../stack.ts";
import { until } from "../until.ts";
import { newVisitor, type Person, signedIn, type Visitor } from "./pages.ts";

// Import, export, audit trail and events of the dashboard, as a browser without scripts uses them.

let organization: Organization;
let owner: Person;

const ownerOf = (of: Organization) => signedIn({ organization: of, role: "owner" });

beforeAll(async () => {
  organization = await newOrganization();
  owner = await ownerOf(organization);
});

const cookies = (visitor: Visitor) =>
  ["", ".0", ".1", ".2"]
    .map((part) => [`${sessionName}${part}`, visitor.cookie(`${sessionName}${part}`)] as const)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value ?? "")}`)
    .join("; ");
const sessionName = `sb-${new URL(stack.supabase_url).hostname.split(".")[0]}-auth-token`;

const agent = new Agent({ keepAlive: true });
const boundary = "----WebKitFormBoundaryABCdef123";
function formOf(fields: Record<string, string>, file?: { name: string; text: string }): string {
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  if (file)
    parts.push(
      `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${file.name}"\r\nContent-Type: text/csv\r\n\r\n${file.text}\r\n`,
    );
  return `${parts.join("")}--${boundary}--\r\n`;
}

async function upload(visitor: Visitor, body: string, headers: Record<string, string> = {}, of = organization) {
  const answer = await send("POST", `${stack.site_url}/o/${of.slug}/admin/import`, {
    agent,
    raw: body,
    headers: {
      "content-type": `multipart/form-data; boundary=${boundary}`,
      origin: stack.site_url,
      cookie: cookies(visitor),
      ...headers,
    },
  });
  return { status: answer.status, html: parse(answer.text), location: answer.headers.location ?? "" };
}

const file = (rows: string[]) => ({ name: "board.csv", text: ["id,title,description", ...rows].join("\n") });
const row = (id: string, title = "A title of a row") => `${id},${title},A description that is long enough`;

const ended = (visitor: Visitor, path: string) =>
  until(async () => {
    const { html } = await visitor.get(path);
    return html.querySelector("#outcome") ? html : undefined;
  });
const numbers = (html: ReturnType<typeof parse>) =>
  html.querySelectorAll(".stat strong").map((number) => number.text.trim());

test("a file is checked, then imported, and the report names the lines with errors", async () => {
  const body = (dry_run: string) =>
    formOf(
      { format: "feedback", dry_run, what: "submissions", source: "", type: "idea" },
      file([row("1"), row("2", "Hm")]),
    );
  const checked = await upload(owner, body("true"));
  expect(checked.status).toBe(303);
  const report = await ended(owner, checked.location);
  expect(numbers(report)).toEqual(["1", "0", "1"]);
  expect(report.querySelectorAll("#import-errors tbody td").map((cell) => cell.text.trim())).toEqual([
    "3",
    "title",
    "must be 5 to 200 characters long",
  ]);
  const stored = () => sql`select from public.submissions where organization_id = ${organization.id}`;
  expect(await stored()).toHaveLength(0);

  // The file is kept, and imported without choosing it again.
  const apply = report.querySelector("#outcome form");
  const imported = await owner.submit(apply);
  expect(imported.location).not.toBe(checked.location);
  expect(numbers(await ended(owner, imported.location ?? ""))).toEqual(["1", "0", "1"]);
  expect(await stored()).toHaveLength(1);
  const { html } = await owner.get(`/o/${organization.slug}/admin/import`);
  expect(html.querySelectorAll("#imports tbody tr")).toHaveLength(2);

  // This works once: after that, the page asks for the file.
  expect((await owner.submit(apply)).status).toBe(410);
  const after = (await owner.get(checked.location)).html;
  expect(after.querySelector("#outcome form")).toBeNull();
  const next = after.querySelector("#outcome a.main")?.getAttribute("href") ?? "";
  const form = (await owner.get(next)).html;
  expect(form.querySelector("input[name=dry_run][checked]")?.getAttribute("value")).toBe("false");
});

test("columns without use are named, mapped to fields, and the stored file is checked again", async () => {
  const of = await newOrganization();
  const admin = await ownerOf(of);
  const text = "Titel;Beschreibung;Notiz\nA title of a row;A description that is long enough;x";
  const fields = { format: "feedback", dry_run: "true", what: "submissions", source: "", type: "idea" };
  const sent = await upload(admin, formOf(fields, { name: "board.csv", text }), {}, of);
  const report = await ended(admin, sent.location);
  const names = (html: typeof report) => html.querySelectorAll("#columns code").map((name) => name.text);
  expect(names(report)).toEqual(["Titel", "Beschreibung", "Notiz", "title", "description"]);
  const form = report.querySelector("#columns-form");
  const twice = await admin.submit(form, { "field of Titel": "title", "field of Notiz": "title" });
  expect(twice.html.querySelector("[role=alert]")?.text).toBe(messagesOf("en").admin.import.fieldTwice);
  const chosen = { "field of Titel": "title", "field of Beschreibung": "description", "field of Notiz": "" };
  const again = await admin.submit(form, chosen);
  const second = await ended(admin, again.location ?? "");
  expect(numbers(second)).toEqual(["1", "0", "0"]);
  expect(names(second)).toEqual([]);
  expect(second.querySelector('[name="field of Titel"] option[selected]')?.getAttribute("value")).toBe("title");
  const imported = await admin.submit(second.querySelector("#outcome form"));
  expect(numbers(await ended(admin, imported.location ?? ""))).toEqual(["1", "0", "0"]);
});

test("a check with dates of two meanings asks for their order, and checks the stored file again", async () => {
  const of = await newOrganization();
  const admin = await ownerOf(of);
  const text = "title,description,created_at\nA title of a row,A description that is long enough,06/05/2024";
  const fields = { format: "feedback", dry_run: "true", what: "submissions", source: "", type: "idea", dates: "" };
  const sent = await upload(admin, formOf(fields, { name: "board.csv", text }), {}, of);
  const report = await ended(admin, sent.location);
  expect(numbers(report)).toEqual(["0", "0", "1"]);
  const again = await admin.submit(report.querySelector("#columns-form"), { dates: "month_first" });
  expect(numbers(await ended(admin, again.location ?? ""))).toEqual(["1", "0", "0"]);
});

test("the file of a dry run is kept until the next one is checked, for a day at most, and is nobody else's", async () => {
  const board = await newOrganization();
  const admin = await ownerOf(board);
  const check = async (id: string) => {
    const sent = await upload(
      admin,
      formOf({ format: "feedback", dry_run: "true", what: "submissions", type: "idea" }, file([row(id)])),
      {},
      board,
    );
    await ended(admin, sent.location);
    return sent.location;
  };
  const offered = async (path: string) => (await admin.get(path)).html.querySelector("#outcome form");
  const [first, second] = [await check("1"), await check("2")];
  expect(await offered(first)).toBeNull();
  expect(await offered(second)).not.toBeNull();
  const theirs = second.replace(board.slug, organization.slug);
  expect((await owner.post(`${theirs}/apply`)).status).toBe(404);
  expect((await owner.post(`${second}/apply`)).status).toBe(403);
  await sql`update private.imports set updated_at = now() - interval '25 hours' where organization_id = ${board.id}`;
  await sql`select private.end_idle_imports()`;
  expect(await offered(second)).toBeNull();
  expect(await sql`select from private.import_file_parts where organization_id = ${board.id}`).toHaveLength(0);
});

test("a page of a running import reloads itself without scripts, and can be canceled", async () => {
  const [created] = await sql<{ id: string }[]>`
    insert into private.imports (organization_id, format, source, is_dry_run, makes_missing, bytes, position, processed)
    values (${organization.id}, 'feedback', 'feedback', false, true, 1000, '{"at": 250, "line": 9}', 8) returning id`;
  const path = `/o/${organization.slug}/admin/import/${only(created).id}`;
  const { html, text } = await owner.get(path);
  expect(text).toContain('<noscript><meta http-equiv="refresh" content="2"/></noscript>');
  const bar = html.querySelector("progress");
  expect([bar?.getAttribute("value"), bar?.getAttribute("max")]).toEqual(["250", "1000"]);
  const canceled = await owner.submit(html.querySelector("main form"));
  expect(canceled.location).toBe(`${path}?done=canceled`);
  const after = await owner.get(canceled.location ?? "");
  expect(after.html.querySelector("#outcome")?.text).toContain("Canceled");
  // A second request finds nothing to cancel.
  expect((await owner.submit(html.querySelector("main form"))).status).toBe(303);
});

test.each([
  ["without a file", formOf({ format: "feedback" }), "Choose a file."],
  ["with a file of another kind", formOf({}, { name: "a.exe", text: "x" }), "The file name must end in"],
  ["with a zip of no Fider", formOf({}, { name: "a.ZIP", text: "x" }), "Only Fider backups"],
  ["with a wrong source", formOf({ source: "No slug" }, file([row("1")])), "must have 1 to 64 lowercase letters"],
])("a form %s is shown again with what is wrong", async (_what, body, problem) => {
  const { status, html } = await upload(owner, body);
  expect(status).toBe(422);
  expect(html.querySelector("p.problem")?.text).toContain(problem);
});

test.each([
  ["that ends in the middle", formOf({}, file([row("1")])).slice(0, -20), 422],
  ["with another boundary", formOf({}).replaceAll(boundary, "other"), 400],
  ["with a part without a name", `--${boundary}\r\nContent-Type: text/plain\r\n\r\nx\r\n--${boundary}--`, 400],
  ["with a header without end", `--${boundary}\r\n${"x".repeat(20_000)}`, 413],
  ["with a field without end", formOf({ source: "x".repeat(20_000) }), 413],
  ["with too many fields", formOf(Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`f${n}`, "x"]))), 413],
])("a form %s is refused", async (_what, body, status) => {
  const answer = await upload(owner, body);
  expect(answer.status).toBe(status);
  expect(answer.html.querySelector("h1")).not.toBeNull();
});

test("a form without a file's encoding, of another site, or of somebody else is refused before its file is read", async () => {
  const body = formOf({ dry_run: "false" }, file([row("9")]));
  const urlencoded = { "content-type": "application/x-www-form-urlencoded" };
  expect((await upload(owner, "format=feedback", urlencoded)).status).toBe(415);
  expect((await upload(owner, body, { origin: "https://evil.example" })).status).toBe(403);
  expect((await upload(newVisitor(), body)).location).toMatch(/^\/sign-in/);
  const stranger = await ownerOf(await newOrganization());
  expect((await upload(stranger, body)).status).toBe(403);
  expect(
    await sql`select from private.imports where organization_id = ${organization.id} and state = 'receiving'`,
  ).toHaveLength(0);
});

test("an upload that breaks off imports nothing", async () => {
  const of = await newOrganization();
  const person = await ownerOf(of);
  const { hostname, port } = new URL(stack.site_url);
  const socket = connect(Number(port), hostname);
  const begun = formOf({ dry_run: "false" }, file([row("1"), row("2")])).slice(0, -60);
  socket.write(
    `POST /o/${of.slug}/admin/import HTTP/1.1\r\nHost: ${hostname}:${port}\r\nOrigin: ${stack.site_url}\r\nCookie: ${cookies(person)}\r\n` +
      `Content-Type: multipart/form-data; boundary=${boundary}\r\nContent-Length: ${begun.length + 200_000}\r\n\r\n${begun}${"y".repeat(100_000)}`,
  );
  await until(async () => {
    const rows = await sql`select from private.imports where organization_id = ${of.id} and state = 'receiving'`;
    return rows.length === 1;
  });
  socket.destroy();
  await until(async () => {
    const rows = await sql`select from private.imports where organization_id = ${of.id} and state = 'failed'`;
    return rows.length === 1;
  });
  expect(await sql`select from public.submissions where organization_id = ${of.id}`).toHaveLength(0);
});

describe("an export", () => {
  test("is the file of the API, with a name", async () => {
    const answer = await owner.get(`/o/${organization.slug}/admin/export/file?what=submissions&format=jsonl`);
    expect(answer.status).toBe(200);
    expect(answer.headers["content-disposition"]).toBe('attachment; filename="submissions.jsonl"');
    expect(JSON.parse(answer.text.split("\n")[0] ?? "")).toMatchObject({ kind: "submission", id: expect.any(String) });
  });

  test("of everything as CSV has the submissions", async () => {
    const answer = await owner.get(`/o/${organization.slug}/admin/export/file?what=all&format=csv`);
    expect(answer.text).toMatch(/^\uFEFF"id","title",/);
  });

  test("of what there is not is an error page", async () => {
    const answer = await owner.get(`/o/${organization.slug}/admin/export/file?what=secrets`);
    expect([answer.status, answer.headers["content-disposition"]]).toEqual([400, undefined]);
  });
});

describe("the audit trail", () => {
  const path = () => `/o/${organization.slug}/admin/audit`;
  const actions = (html: ReturnType<typeof parse>) =>
    html.querySelectorAll("#audit td [title]").map((action) => action.getAttribute("title"));

  test("is filtered by who, what and when, and a page at a time", async () => {
    const entry = (action: string, created_at: string, actor = owner.userId) =>
      sql`insert into private.audit_log (organization_id, actor_id, action, target_type, details, created_at)
        values (${organization.id}, ${actor}, ${action}, 'tag', '{"slug": "<b>x</b>"}', ${created_at})`;
    const other = await ownerOf(organization);
    await sql`update public.organizations set time_zone = 'Asia/Tokyo' where id = ${organization.id}`;
    await entry("tag.create", "2020-01-31T14:59:00Z");
    await entry("tag.create", "2020-01-31T15:01:00Z");
    await entry("tag.delete", "2020-02-01T01:00:00Z", other.userId);
    const shown = async (query: string) => actions((await owner.get(`${path()}?${query}`)).html);
    expect(await shown("from=2020-01-01&to=2020-01-31")).toEqual(["tag.create"]);
    expect(await shown("from=2020-02-01&to=2020-02-01")).toEqual(["tag.delete", "tag.create"]);
    expect(await shown("action=tag.create&actor_id=&from=&to=2020-12-31")).toEqual(["tag.create", "tag.create"]);
    expect(await shown(`actor_id=${other.userId}`)).toEqual(["tag.delete"]);
    const { html } = await owner.get(`${path()}?to=2020-12-31&limit=2`);
    expect(actions(html)).toEqual(["tag.delete", "tag.create"]);
    const next = html.querySelector("a[rel=next]")?.getAttribute("href") ?? "";
    expect(next).toContain("to=2020-12-31");
    expect(actions((await owner.get(next)).html)).toEqual(["tag.create"]);
    const form = html.querySelector("form.filter-bar");
    expect(form?.querySelectorAll("select[name=action] option").map((option) => option.getAttribute("value"))).toEqual(
      expect.arrayContaining(["", "tag.create", "tag.delete"]),
    );
    expect(html.querySelector("#audit b")).toBeNull();
  });

  test("has words for every action, in the visitor's language", async () => {
    const { nouns, verbs } = messagesOf("de").admin.audit;
    const sources = await sql<{ text: string }[]>`
      select prosrc as text from pg_proc where pronamespace = 'private'::regnamespace`;
    const actions = sources.flatMap(({ text }) => [
      ...text.matchAll(/(?:audit|record_member_change)\([^;]*?'([a-z_]+)\.([a-z_]+)'/g),
    ]);
    expect(actions.length).toBeGreaterThan(20);
    for (const [, noun = "", verb = ""] of actions)
      expect([nouns[noun], verbs[verb]], `${noun}.${verb}`).not.toContain(undefined);
    const { html } = await owner.get(`${path()}?lang=de&to=2020-12-31`);
    expect(html.querySelector("#audit td [title='tag.create']")?.text).toBe("Schlagwort: anlegen");
  });

  test.each(["action=x", "from=yesterday", "actor_id=me", "cursor=!"])("refuses %s", async (query) => {
    expect((await owner.get(`${path()}?${query}`)).status).toBe(400);
  });
});

test("the events are shown newest first, by type, a page at a time, and no event of others", async () => {
  const of = await newOrganization();
  const person = await ownerOf(of);
  await newSubmission(organization, { id: owner.userId }, { title: "Somebody else's" });
  for (let n = 1; n <= 52; n++) await newSubmission(of, { id: person.userId }, { title: `Number <${n}>` });
  const path = `/o/${of.slug}/admin/events`;
  const titles = (html: ReturnType<typeof parse>) =>
    html
      .querySelectorAll("#events tbody tr")
      .map((tr) => tr.querySelectorAll("td")[2]?.querySelector("a")?.text.trim());
  // An open transaction of another test delays newer rows.
  const { html } = await until(async () => {
    const answer = await person.get(`${path}?type=submission.created`);
    return titles(answer.html)[0] === "Number <52>" && answer;
  });
  expect(titles(html)).toHaveLength(50);
  const next = html.querySelector("a[rel=next]")?.getAttribute("href") ?? "";
  expect(titles((await person.get(next)).html)).toEqual(["Number <2>", "Number <1>"]);
  expect(titles((await person.get(`${path}?type=survey.closed`)).html)).toEqual([]);
  expect((await person.get(`${path}?type=x`)).status).toBe(400);
  expect((await person.get(`${path}?cursor=${randomUUID()}`)).status).toBe(400);
});

test("an owner of two organizations switches between them, on the same page", async () => {
  const [first, second] = [await newOrganization(), await newOrganization()];
  const person = await ownerOf(first);
  await joinTeam(person.userId, second, "admin");
  const { html } = await person.get(`/o/${first.slug}/admin/audit`);
  const links = html.querySelectorAll(".switcher a").map((link) => link.getAttribute("href") ?? "");
  expect(links.sort()).toEqual([first, second].map(({ slug }) => `/o/${slug}/admin/audit`).sort());
  for (const link of links) expect((await person.get(link)).status).toBe(200);
  expect((await owner.get(`/o/${organization.slug}/admin`)).html.querySelector(".switcher")).toBeNull();
});
