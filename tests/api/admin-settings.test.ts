import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { originsAnswer } from "../../shared/admin.ts";
import { events } from "../../shared/events.ts";
import { type OrganizationPatch, organizationDetailAnswer } from "../../shared/organizations.ts";
import { deletedAnswer } from "../../shared/submissions.ts";
import {
  categoryMergeAnswer,
  keptCategoryAnswer,
  keptCategoryListAnswer,
  keptTagAnswer,
  keptTagListAnswer,
  tagMergeAnswer,
} from "../../shared/taxonomy.ts";
import { sql } from "../stack.ts";
import { api, type Call, expectError, expectJson, getJson, type Method } from "./client.ts";
import { countMistakes, newSubmission, newTeam, only, type Team } from "./world.ts";

const asAdmin = (method: Method, path: string, call: Call = {}) =>
  api(method, path, { as: board.admin, on: board.organization, ...call });
const [board, other] = await Promise.all([newTeam(), newTeam()]);

const lastUpdate = async ({ organization }: Team) => {
  const [row] = await sql<{ data: unknown }[]>`
    select data from private.outbox where organization_id = ${organization.id} and type = 'org.updated' order by id desc limit 1`;
  return events["org.updated"].parse(only(row).data);
};

describe("an organization's settings", () => {
  const path = () => `/api/organizations/${board.organization.id}`;
  const patch = (body: object) => api("PATCH", path(), { as: board.admin, body });

  it("are visible to its team, with the plan and the caller's role", async () => {
    await newSubmission(board.organization, board.member);
    await sql`insert into public.surveys (organization_id, title) values
      (${board.organization.id}, 'Asked'), (${board.organization.id}, 'Put away')`;
    await sql`update public.surveys set status = 'archived' where organization_id = ${board.organization.id} and title = 'Put away'`;
    const { data } = await getJson(path(), organizationDetailAnswer, { as: board.member });
    expect(data).toMatchObject({
      ...board.organization,
      role: "member",
      plan: { submissions: 1, max_submissions: null, members: 3, max_members: null, surveys: 1, max_surveys: null },
      settings: {},
    });
  });

  it("change one at a time, and the event has the old and new value; of free-form settings only the name", async () => {
    const fields = {
      name: "New name",
      require_approval: true,
      time_zone: "Europe/Berlin",
      settings: { theme: { dark: null }, token: "geheim" },
    };
    const { data } = expectJson(await patch(fields), 200, organizationDetailAnswer);
    expect(data).toMatchObject({ ...fields, visibility: "public" });
    const event = await lastUpdate(board);
    expect(event).toMatchObject({
      organization: { name: "New name" },
      changed: ["name", "require_approval", "settings", "time_zone"],
      changes: { require_approval: { from: false, to: true }, time_zone: { from: "UTC", to: "Europe/Berlin" } },
    });
    expect(JSON.stringify(event)).not.toContain("geheim");
    const [entry] =
      await sql`select details from private.audit_log where organization_id = ${board.organization.id} and action = 'organization.update'`;
    expect(JSON.stringify(entry)).not.toContain("geheim");
    expect(
      expectJson(await patch({ settings: { token: null, more: [1] } }), 200, organizationDetailAnswer).data.settings,
    ).toEqual({ theme: { dark: null }, more: [1] });
  });

  const changed: Record<keyof OrganizationPatch, unknown> = {
    name: "Other name",
    slug: `other-${randomUUID()}`,
    visibility: "private",
    require_approval: true,
    trust_after: 3,
    anonymous_may: "vote",
    time_zone: "Asia/Tokyo",
    default_locale: "de",
    brand_color: "#123456",
    logo_url: "https://host.example/logo.png",
    allow_indexing: false,
    mail_enabled: true,
    mail_defaults: { comment: "never" },
    settings: { theme: "dark" },
  };
  it.each(Object.entries(changed))(
    "store and publish a change of %s, and write it to the audit trail",
    async (name, value) => {
      const { organization, admin } = await newTeam();
      const at = `/api/organizations/${organization.id}`;
      expectJson(await api("PATCH", at, { as: admin, body: { [name]: value } }), 200, organizationDetailAnswer);
      const { data } = await getJson(at, organizationDetailAnswer, { as: admin });
      expect(data).toMatchObject({ [name]: value });
      const [published] = await sql<{ data: { changed: string[] }; details: { changed: string[] } }[]>`
      select o.data, a.details from private.outbox o, private.audit_log a
      where o.organization_id = ${organization.id} and o.type = 'org.updated'
        and a.organization_id = ${organization.id} and a.action = 'organization.update'`;
      expect([published?.data.changed, published?.details.changed]).toEqual([[name], [name]]);
    },
  );

  it("publish no event when they do not change", async () => {
    const count = () => sql`select count(*) from private.outbox where organization_id = ${board.organization.id}`;
    const before = await count();
    await patch({ name: "New name", require_approval: true });
    expect(await count()).toEqual(before);
  });

  it.each([
    [{}, ["body"]],
    [{ name: "", slug: "Not A Slug", visibility: "secret" }, ["name", "slug", "visibility"]],
    [{ time_zone: "Mars/Olympus" }, ["time_zone"]],
    [{ time_zone: "'; select 1" }, ["time_zone"]],
    [{ settings: { much: "x".repeat(21_000) } }, ["settings"]],
    [{ settings: [] }, ["settings"]],
    [{ settings: { deep: ["a\u0000b"] } }, ["settings"]],
    [{ settings: { "a\ud800": 1 } }, ["settings"]],
    [{ trust_after: 0 }, ["trust_after"]],
    [{ slug: other.organization.id }, ["slug"]],
  ])("reject %j", async (body, fields) => {
    expectError(await patch(body), "VALIDATION_ERROR", ...fields);
  });

  it("reject another organization's slug, and ignore fields that only an operator sets", async () => {
    expectError(await patch({ slug: other.organization.slug }), "CONFLICT", "slug");
    await patch({ name: "Mine", max_submissions: 5, is_default: true, allowed_origins: ["https://evil.example"] });
    const [row] =
      await sql`select max_submissions, is_default, allowed_origins from public.organizations where id = ${board.organization.id}`;
    expect(row).toEqual({ max_submissions: null, is_default: false, allowed_origins: [] });
  });
});

describe.each([
  { kind: "categories", one: keptCategoryAnswer, list: keptCategoryListAnswer, merged: categoryMergeAnswer },
  { kind: "tags", one: keptTagAnswer, list: keptTagListAnswer, merged: tagMergeAnswer },
] as const)("$kind", ({ kind, one, list, merged }) => {
  const root = `/api/admin/${kind}`;
  const make = async (body: object) => expectJson(await asAdmin("POST", root, { body }), 201, one).data;
  const file = async (submission: string, label: string) => {
    if (kind === "categories") await sql`update public.submissions set category_id = ${label} where id = ${submission}`;
    else
      await sql`insert into public.submission_tags values (${board.organization.id}, ${submission}, ${label}) on conflict do nothing`;
  };
  const filed = async (label: string) =>
    (kind === "categories"
      ? await sql<{ id: string }[]>`select id from public.submissions where category_id = ${label} order by id`
      : await sql<
          { id: string }[]
        >`select submission_id as id from public.submission_tags where tag_id = ${label} order by id`
    ).map(({ id }) => id);

  it("get a free slug derived from their name when none is given", async () => {
    expect((await make({ name: "Größe & Maß" })).slug).toBe("grosse-mass");
    expect((await make({ name: "Größe – Maß!" })).slug).toBe("grosse-mass-2");
    const { slug } = await make({ name: "日本語" });
    expect(slug).toMatch(/^(category|tag)$/);
    expect((await make({ name: randomUUID() })).slug).toMatch(/^(category|tag)-2$/);
    expectError(await asAdmin("POST", root, { body: { name: "Other", slug } }), "CONFLICT", "slug");
    const slugs = await Promise.all(Array.from({ length: 4 }, () => make({ name: "At once" })));
    expect(new Set(slugs.map((label) => label.slug)).size).toBe(4);
  });

  it("have translations, and are updated field by field", async () => {
    const { id } = await make({
      name: "Billing",
      color: "#ff0000",
      translations: { de: "Abrechnung", fr: "Facturation" },
    });
    const body = { name: "Invoices", translations: { fr: null, ja: "請求" } };
    const { data } = expectJson(await asAdmin("PATCH", `${root}/${id}`, { body }), 200, one);
    expect(data).toMatchObject({
      name: "Invoices",
      slug: "billing",
      color: "#ff0000",
      translations: { de: "Abrechnung", ja: "請求" },
    });
    const shown = await api("GET", `/api/organizations/${board.organization.id}/${kind}`, {
      headers: { "accept-language": "ja" },
    });
    expect(shown.text).toContain("請求");
    const { data: all } = expectJson(await asAdmin("GET", root), 200, list);
    expect(all.find((label) => label.id === id)?.translations).toEqual({ de: "Abrechnung", ja: "請求" });
    expect(await lastUpdate(board)).toMatchObject({ changed: [kind], changes: {} });
  });

  it("keep their submissions when they are deleted", async () => {
    const { id } = await make({ name: "Short-lived" });
    const submission = await newSubmission(board.organization, board.member);
    await file(submission, id);
    expectJson(await asAdmin("DELETE", `${root}/${id}`), 200, deletedAnswer);
    expectError(await asAdmin("DELETE", `${root}/${id}`), "NOT_FOUND");
    expect((await api("GET", `/api/submissions/${submission}`, { as: board.member })).status).toBe(200);
    expect(await countMistakes(board.organization)).toEqual([]);
  });

  it("merge, and a submission that had both has one", async () => {
    const [from, into] = [await make({ name: "One" }), await make({ name: "Two" })];
    const ids = [
      await newSubmission(board.organization, board.member),
      await newSubmission(board.organization, board.member),
    ];
    for (const id of ids) await file(id, from.id);
    if (kind === "tags") await file(ids[0] ?? "", into.id);
    const answer = await asAdmin("POST", `${root}/${from.id}/merge`, { body: { into_id: into.id } });
    expect(expectJson(answer, 200, merged).data).toMatchObject({ id: into.id, moved: 2 });
    expect(await filed(into.id)).toEqual(ids.toSorted());
    expectError(await asAdmin("PATCH", `${root}/${from.id}`, { body: { name: "Gone" } }), "NOT_FOUND");
    expect(await countMistakes(board.organization)).toEqual([]);
  });

  it("do not wait for a locked submission, and are deleted when the last one is unlocked", async () => {
    const [from, into] = [await make({ name: "Busy" }), await make({ name: "Next" })];
    const [held, free, late] = (await Promise.all(
      [1, 2, 3].map(() => newSubmission(board.organization, board.member)),
    )) as [string, string, string];
    for (const id of [held, free]) await file(id, from.id);
    await sql.begin(async (transaction) => {
      await transaction`select from public.submissions where id = ${held} for no key update`;
      const answer = await asAdmin("POST", `${root}/${from.id}/merge`, { body: { into_id: into.id } });
      expect(expectJson(answer, 200, merged).data.moved).toBe(2);
      expect(await filed(into.id)).toEqual([free]);
    });
    await file(late, from.id).catch(() => file(late, into.id));
    for (let left = 1; left > 0; ) {
      await sql`select private.run_retirements()`;
      left = (await sql`select from public.${sql(kind)} where id = ${from.id}`).length;
    }
    expect(await filed(into.id)).toEqual([held, free, late].toSorted());
    expect(await countMistakes(board.organization)).toEqual([]);
  });

  it("cannot be merged into those of another organization, nor into themselves", async () => {
    const { id } = await make({ name: "Mine" });
    const [foreign] = await sql<{ id: string }[]>`
      insert into public.${sql(kind)} (organization_id, name, slug) values (${other.organization.id}, 'Theirs', 'theirs') returning id`;
    const merge = (from: string, into_id: string) => asAdmin("POST", `${root}/${from}/merge`, { body: { into_id } });
    expectError(await merge(id, only(foreign).id), "NOT_FOUND", "into_id");
    expectError(await merge(id, id), "VALIDATION_ERROR", "into_id");
  });

  it("return the name of the invalid field", async () => {
    const post = (body: object) => asAdmin("POST", root, { body });
    expectError(await post({ name: " ", color: "red", slug: "No!" }), "VALIDATION_ERROR", "color", "name", "slug");
    const { details } = expectError(
      await post({ name: "X", translations: { xx: "?" } }),
      "VALIDATION_ERROR",
      "translations",
    );
    expect(details).toEqual([{ field: "translations", message: expect.stringContaining("pt-BR") }]);
    const { id } = await make({ name: "Right" });
    expectError(await asAdmin("PATCH", `${root}/${id}`, { body: {} }), "VALIDATION_ERROR", "body");
  });
});

it("categories are returned in the order that an admin sets", async () => {
  const fresh = await newTeam();
  const call = { as: fresh.admin, on: fresh.organization };
  const ids: string[] = [];
  for (const name of ["First", "Second", "Third"]) {
    ids.push(
      expectJson(await api("POST", "/api/admin/categories", { ...call, body: { name } }), 201, keptCategoryAnswer).data
        .id,
    );
  }
  const [first, second, third] = ids;
  const order = (list: (string | undefined)[]) =>
    api("PUT", "/api/admin/categories/order", { ...call, body: { ids: list } });
  const { data } = expectJson(await order([third, first]), 200, keptCategoryListAnswer);
  expect(data.map(({ id, position }) => [id, position])).toEqual([
    [third, 0],
    [first, 1],
    [second, 2],
  ]);
  const shown = await api("GET", `/api/organizations/${fresh.organization.id}/categories`);
  expect((shown.body as { data: { id: string }[] }).data.map(({ id }) => id)).toEqual([third, first, second]);
  expectError(await order([board.organization.id]), "NOT_FOUND", "ids");
});

it("an origin that is listed twice is allowed once", async () => {
  const origins = ["https://app.example.org", "https://app.example.org"];
  const { data } = expectJson(await asAdmin("PUT", "/api/admin/origins", { body: { origins } }), 200, originsAnswer);
  expect(data.origins).toEqual(["https://app.example.org"]);
});
