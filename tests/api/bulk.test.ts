import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { bulkAnswer } from "../../shared/moderation.ts";
import { sql } from "../stack.ts";
import { api, type Caller, expectError, expectJson } from "./client.ts";
import {
  countMistakes,
  merge,
  newOrganization,
  newSubmission,
  newUser,
  type Organization,
  only,
  stored,
} from "./world.ts";

const organization = await newOrganization();
const admin = await newUser("Adam", { organization, role: "admin" });
const [author, follower] = [await newUser("Ada"), await newUser("Fay")];
await sql`insert into public.tags (organization_id, name, slug) select ${organization.id}, t, t from unnest(array['ios', 'web']) t`;
const [newIdea] = await sql<{ id: string }[]>`
    insert into public.categories (organization_id, name, slug) values (${organization.id}, 'App', 'app') returning id`;
const category: string = only(newIdea).id;

const created = () => newSubmission(organization, author);
const many = (body: object, as: Caller | undefined = admin, on: Organization = organization) =>
  api("POST", "/api/admin/bulk", { as, on, body });
const tagsOf = async (id: string) =>
  (
    await sql`select t.slug from public.submission_tags st join public.tags t on t.id = st.tag_id where st.submission_id = ${id} order by 1`
  ).map(({ slug }) => slug);

describe("a bulk change", () => {
  it("changes statuses with a note, and notifies followers", async () => {
    const ids = [await created(), await created()];
    for (const id of ids) await api("POST", `/api/submissions/${id}/follow`, { as: follower });
    const { data, meta } = expectJson(
      await many({ ids, action: "set_status", value: "planned", note: "Next spring" }),
      200,
      bulkAnswer,
    );
    expect(data).toEqual(ids.map((id) => ({ id, ok: true, changed: true })));
    expect(meta).toEqual({ succeeded: 2, failed: 0 });
    const notifications = await sql`
      select n.submission_id, h.note, h.changed_by from public.notifications n join public.status_changes h on h.id = n.event_id
      where n.user_id = ${follower.id} and n.submission_id = any (${ids}) order by array_position(${ids}::uuid[], n.submission_id)`;
    expect([...notifications]).toEqual(
      ids.map((submission_id) => ({ submission_id, note: "Next spring", changed_by: admin.id })),
    );
    const repeated = expectJson(await many({ ids, action: "set_status", value: "planned" }), 200, bulkAnswer);
    expect(repeated.data.map(({ changed }) => changed)).toEqual([false, false]);
  });

  it("sets and removes a category and tags, by id or slug", async () => {
    const id = await created();
    expectJson(await many({ ids: [id], action: "set_category", value: "app" }), 200, bulkAnswer);
    expect(await stored("submissions", id)).toMatchObject({ category_id: category });
    expectJson(await many({ ids: [id], action: "set_category", value: null }), 200, bulkAnswer);
    expect(await stored("submissions", id)).toMatchObject({ category_id: null });
    expectJson(await many({ ids: [id, id], action: "add_tags", value: ["ios", "web"] }), 200, bulkAnswer);
    expect(await tagsOf(id)).toEqual(["ios", "web"]);
    expectJson(await many({ ids: [id], action: "remove_tags", value: ["web"] }), 200, bulkAnswer);
    expect(await tagsOf(id)).toEqual(["ios"]);
  });

  it("applies each item independently: one failure does not stop the others", async () => {
    const [source, target, free] = [await created(), await created(), await created()];
    const elsewhere = await newSubmission(await newOrganization(), author);
    await merge(source, target);
    const ids = [elsewhere, source, target, free, randomUUID()];
    const { data, meta } = expectJson(await many({ ids, action: "set_status", value: "completed" }), 200, bulkAnswer);
    expect(data.map(({ ok, error }) => error?.code ?? ok)).toEqual([
      "NOT_FOUND",
      "SUBMISSION_MERGED",
      true,
      true,
      "NOT_FOUND",
    ]);
    expect(meta).toEqual({ succeeded: 2, failed: 3 });
    const deleted = expectJson(await many({ ids, action: "delete" }), 200, bulkAnswer);
    expect(deleted.data.map(({ ok, error }) => error?.code ?? ok)).toEqual([
      "NOT_FOUND",
      true,
      true,
      true,
      "NOT_FOUND",
    ]);
    expect(await stored("submissions", free)).toBeUndefined();
    expect(await stored("submissions", elsewhere)).toMatchObject({ status: "open" });
    expect(await countMistakes(organization)).toEqual([]);
  });

  it("does not delete the target of a merge", async () => {
    const [source, target] = [await created(), await created()];
    await merge(source, target);
    const { data } = expectJson(await many({ ids: [target], action: "delete" }), 200, bulkAnswer);
    expect(data[0]?.error?.code).toBe("CONFLICT");
  });

  it.each([
    ["no ids", { ids: [], action: "delete" }, ["ids"]],
    ["101 ids", { ids: Array.from({ length: 101 }, () => randomUUID()), action: "delete" }, ["ids"]],
    ["no action", { ids: [randomUUID()] }, ["action"]],
    ["a duplicate", { ids: [randomUUID()], action: "set_status", value: "duplicate" }, ["value"]],
    ["an unknown category", { ids: [randomUUID()], action: "set_category", value: "none" }, ["value"]],
    ["an unknown tag", { ids: [randomUUID()], action: "add_tags", value: ["ios", "none"] }, ["value"]],
    ["no tags", { ids: [randomUUID()], action: "remove_tags", value: [] }, ["value"]],
  ])("%s are rejected with the name of the field", async (_, body, fields) => {
    expectError(await many(body), "VALIDATION_ERROR", ...fields);
  });

  it("of another organization are not found", async () => {
    const rival = await newOrganization();
    const rita = await newUser("Rita", { organization: rival, role: "owner" });
    const answer = await many({ ids: [await created()], action: "delete" }, rita, rival);
    expect(expectJson(answer, 200, bulkAnswer).data[0]?.error?.code).toBe("NOT_FOUND");
  });

  it("concurrent overlapping changes, with votes, finish without an error", async () => {
    const ids = await Promise.all(Array.from({ length: 12 }, () => created()));
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) => [
        many({
          ids: n % 2 ? ids : ids.toReversed(),
          action: "set_status",
          value: ["planned", "open", "declined"][n % 3],
        }),
        many({ ids: ids.toReversed(), action: "set_category", value: n % 2 ? "app" : null }),
        api("POST", `/api/submissions/${ids[n]}/vote`, { as: follower }),
        api("PATCH", `/api/submissions/${ids[n]}/status`, { as: admin, body: { status: "in_progress" } }),
      ]).flat(),
    );
    expect(answers.filter(({ status }) => status > 201).map(({ text }) => text)).toEqual([]);
    expect(await countMistakes(organization)).toEqual([]);
  });
});
