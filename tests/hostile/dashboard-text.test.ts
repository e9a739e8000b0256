import { expect, test } from "vitest";
import { newComment, newOrganization, newSubmission, newUser, type Organization } from "../api/world.ts";
import { sql } from "../stack.ts";
import { adminAreas } from "../web/admin/areas.ts";
import { type AdminWorld, filled } from "../web/admin/callers.ts";
import { type Person, signedIn } from "../web/pages.ts";

// Markup in every text column, as an attack on those who manage the board.

const markup = `"><img src=x onerror=alert(1)><script>alert(2)</script><svg/onload=alert(3)></title>'`;
const formula = `=HYPERLINK("https://evil.example","x")`;

type Board = { organization: Organization; owner: Person; pages: string[] };

/** A board with a row of everything, and the pages that show them. */
async function newBoard(): Promise<Board> {
  const organization = await newOrganization();
  const owner = await signedIn({ organization, role: "owner" });
  const author = await newUser("An author");
  const id = await newSubmission(organization, author);
  await newComment(id, author);
  await newComment(await newSubmission(organization, author, { title: "Another one" }), author);
  const world: AdminWorld = { organization, authorId: author.id };
  const pages: string[] = [];
  for (const area of adminAreas)
    for (const [path] of area.pages) pages.push(`/o/${organization.slug}/admin${await filled(path, area, world)}`);
  return { organization, owner, pages };
}

/** Sets the text in every column of the board's rows that accepts it; returns the names of the columns. */
async function poison({ id }: Organization, text: string): Promise<string[]> {
  const columns = await sql<{ table: string; column: string }[]>`
    select format('%I.%I', c.table_schema, c.table_name) as table, c.column_name as column
    from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
    where c.table_schema in ('public', 'private') and t.table_type = 'BASE TABLE' and c.data_type = 'text'
      -- The schedule derives these at any time from other columns.
      and c.table_name !~ '_(activity|counts|days|zones)$'
      -- Pages find the organization by these keys.
      and c.table_name <> 'organization_slugs'
      and exists (select from information_schema.columns o where o.table_schema = c.table_schema
        and o.table_name = c.table_name and o.column_name = 'organization_id')
    union all select 'public.organizations', 'name'
    union all select 'public.profiles', 'name'`;
  const done: string[] = [];
  for (const { table, column } of columns) {
    const where =
      table === "public.organizations"
        ? sql`id = ${id}`
        : table === "public.profiles"
          ? sql`organization_id = ${id} or id in (
              select author_id from public.submissions where organization_id = ${id}
              union all select user_id from public.memberships where organization_id = ${id})`
          : sql`organization_id = ${id}`;
    // Constraints and triggers reject the text in most columns.
    const changed = await sql`
      update ${sql.unsafe(table)} set ${sql(column)} = ${text} || substr(md5(ctid::text), 1, 8) where ${where}`.then(
      ({ count }) => count,
      () => 0,
    );
    if (changed > 0) done.push(`${table}.${column}`);
  }
  return done;
}

const told = [
  "private.agents.description",
  "private.api_keys.name",
  "private.imports.problem",
  "public.categories.name",
  "public.comments.body",
  "public.organizations.name",
  "public.profiles.name",
  "public.submissions.description",
  "public.submissions.title",
  "public.tags.name",
];

test("markup in every column is text on every page", async () => {
  const { organization, owner, pages } = await newBoard();
  expect(await poison(organization, markup)).toEqual(expect.arrayContaining(told));
  const board = `/o/${organization.slug}`;
  let shown = 0;
  for (const path of [...pages, board, `${board}/roadmap`, `${board}/admin/people/users?search=onerror`]) {
    const { status, html, text, headers } = await owner.get(path);
    // A key whose id was replaced by the text is not found.
    expect([path, status, status >= 500 ? html.querySelector("main")?.text : ""]).toEqual([
      path,
      expect.toBeOneOf([200, 404]),
      "",
    ]);
    if (!String(headers["content-type"]).startsWith("text/html")) continue;
    if (text.includes("onerror=alert(1)")) shown++;
    expect([path, html.querySelectorAll("[onerror], [onload], [src=x]").length]).toEqual([path, 0]);
    expect(text, path).not.toMatch(/<script>|<img src=x|<svg\/onload/i);
    for (const link of html.querySelectorAll("a[href], form[action], [formaction]"))
      for (const name of ["href", "action", "formaction"])
        expect([path, link.getAttribute(name) ?? "/"]).toEqual([path, expect.stringMatching(/^(?:[/#?]|https?:)/)]);
    // A picture is a URL, or the page's own figure, whose texts are encoded.
    for (const picture of html.querySelectorAll("img"))
      expect([path, picture.getAttribute("src")]).toEqual([
        path,
        expect.stringMatching(/^(?:[/#?]|https?:|data:image\/svg\+xml,[^<>"\s]+$)/),
      ]);
  }
  expect(shown).toBeGreaterThan(50);
});

test("a formula in every column is text in every file", async () => {
  const { organization, owner, pages } = await newBoard();
  expect(await poison(organization, formula)).toEqual(expect.arrayContaining(told));
  const base = `/o/${organization.slug}/admin`;
  const kinds = (await owner.get(`${base}/export`)).html
    .querySelectorAll("select[name=what] option")
    .map((option) => option.getAttribute("value"));
  let guarded = 0;
  for (const path of [
    ...kinds.map((what) => `${base}/export/file?format=csv&what=${what}`),
    ...pages.filter((page) => page.endsWith(".csv")),
  ]) {
    const { status, text, headers } = await owner.get(path);
    expect([path, status]).toEqual([path, 200]);
    expect(headers["content-disposition"]).toMatch(/^attachment; filename="[\w-]+\.csv"$/);
    expect(text, path).not.toMatch(/(?:^|[\r\n,])"?=HYPERLINK/);
    guarded += text.split("'=HYPERLINK").length - 1;
  }
  expect(guarded).toBeGreaterThan(10);
});
