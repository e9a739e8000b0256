import { describe, expect, test } from "vitest";
import { auditAnswer } from "../../shared/audit.ts";
import { erasedAnswer, peopleAnswer } from "../../shared/people.ts";
import { submissionCreatedByKey, submissionDetailAnswer } from "../../shared/submissions.ts";
import { sql, stack, supabase } from "../stack.ts";
import { until } from "../until.ts";
import { api, expectJson, getJson } from "./client.ts";
import { longEnough, newKey, newOrganization, newSubmission, newTeam } from "./world.ts";

const { organization, path, admin } = await newTeam();
const key = await newKey(organization, ["submissions:write", "submissions:moderate", "organization:write"]);
const neutral = (await fetch(`${stack.site_url}/avatars/${crypto.randomUUID()}.svg`)).text();

const idea = (author: object) => ({ title: "By a key", description: longEnough, type: "idea", ...author });
const submit = async (author: object, as = key) =>
  expectJson(await api("POST", "/api/submissions", { as, body: idea(author) }), 201, submissionCreatedByKey).id;
const authorOf = async (id: string) =>
  (await getJson(`/api/submissions/${id}?expand=author`, submissionDetailAnswer)).data.author;
const by = async (author: object, as = key) => authorOf(await submit(author, as));
const figureOf = async (id = "") => (await fetch(`${stack.site_url}/avatars/${id}.svg`)).text();

describe("an author with a name only", () => {
  test("is one person of the organization, also if two requests name them at once", async () => {
    const ids = (await Promise.all(Array.from({ length: 8 }, () => by({ author_name: "Nell" })))).map((one) => one?.id);
    expect(new Set(ids).size).toBe(1);
    expect(await by({ author_name: " \u202eNell ", author_email: null })).toMatchObject({ id: ids[0], name: "Nell" });
    const others = [
      await by({ author_name: "nell" }),
      await by({ author_name: "Nell", author_email: "nell@x.example" }),
    ];
    const elsewhere = await newKey(await newOrganization(), ["submissions:write"]);
    for (const other of [...others, await by({ author_name: "Nell" }, elsewhere)]) expect(other?.id).not.toBe(ids[0]);
  });

  test("is found and erased by admins, after which the name is another person", async () => {
    const author = await by({ author_name: "Erasmus Gone" });
    expect(await figureOf(author?.id)).toContain(">EG<");
    const { data } = await getJson("/api/admin/people?search=erasmus", peopleAnswer, { as: admin, on: organization });
    expect(data).toMatchObject([{ id: author?.id, kind: "anonymous", email: null }]);
    expectJson(
      await api("POST", `/api/admin/people/${author?.id}/erase`, { as: admin, on: organization }),
      200,
      erasedAnswer,
    );
    expect(await figureOf(author?.id)).toBe(await neutral);
    expect((await by({ author_name: "Erasmus Gone" }))?.id).not.toBe(author?.id);
  });
});

test("a key without an author has the name that its organization has now; its own is for admins", async () => {
  const id = await submit({ author_email: null, author_name: null });
  expect(await authorOf(id)).toMatchObject({
    id: key.profileId,
    name: "Organization of a test",
    is_team_member: false,
  });
  // The new name is also that of a member, which the key may not take for itself.
  await api("PATCH", path, { as: key, body: { name: "The admin" } });
  const change = { as: key, body: { status: "planned" } };
  expect((await api("PATCH", `/api/submissions/${id}/status`, change)).body).toMatchObject({
    data: { changed_by: "The admin" },
  });
  const profiles = await supabase().from("profiles").select("name").eq("id", key.profileId);
  expect(profiles.data).toEqual([{ name: "The admin" }]);
  const [event] =
    await sql`select data from private.outbox where subject_id = ${id} and type = 'submission.status_changed'`;
  expect(event?.data).toMatchObject({ changed_by: "The admin" });
  const audit = await getJson(`/api/admin/audit?actor_id=${key.profileId}`, auditAnswer, {
    as: admin,
    on: organization,
  });
  expect(audit.data[0]?.actor).toEqual({ id: key.profileId, name: "Key of a test" });
  expect(await figureOf(key.profileId)).toBe(await neutral);
});

test("a key that is made while its organization is renamed has the new name", async () => {
  const renamed = await newOrganization();
  const { making } = await sql.begin(async (tx) => {
    await tx`update public.organizations set name = 'Renamed' where id = ${renamed.id}`;
    const making = newKey(renamed, ["submissions:write"]);
    const waits = async () => {
      const found = await sql`
        select from pg_stat_activity where wait_event_type = 'Lock' and query like '%private.create_api_key%'`;
      return found.length > 0;
    };
    await Promise.race([making, until(waits)]);
    return { making };
  });
  const { profileId } = await making;
  expect(await sql`select name from public.profiles where id = ${profileId}`).toEqual([{ name: "Renamed" }]);
});

describe("the picture at /avatars", () => {
  test("is a picture for every page and cache, of whatever id", async () => {
    const author = await by({ author_name: `<script>'"&` });
    const answer = await fetch(`${stack.site_url}/avatars/${author?.id.toUpperCase()}.svg`);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-type": "image/svg+xml",
      "cache-control": "public, max-age=86400",
      "content-security-policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
      "cross-origin-resource-policy": "cross-origin",
      "x-content-type-options": "nosniff",
    });
    expect(await answer.text()).toContain(">S<");
    for (const wrong of ["x.svg", `${author?.id}`, `${author?.id}.png`, "%00.svg"])
      expect((await fetch(`${stack.site_url}/avatars/${wrong}`)).status, wrong).toBe(404);
  });

  test("shows no name of who is not seen by everybody", async () => {
    const vault = await newTeam({ visibility: "private" });
    await newSubmission(vault.organization, vault.admin);
    expect(await figureOf(vault.admin.id)).toBe(await neutral);
    const pending = await newSubmission(organization, vault.owner);
    expect(await figureOf(vault.owner.id)).toContain(">TO<");
    await sql`update public.submissions set moderation_state = 'rejected' where id = ${pending}`;
    expect(await figureOf(vault.owner.id)).toBe(await neutral);
  });
});
