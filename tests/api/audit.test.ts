import { expect, it } from "vitest";
import { auditAnswer } from "../../shared/audit.ts";
import { api, type Caller, expectError, getJson, type Method } from "./client.ts";
import { newComment, newKey, newOrganization, newSubmission, newUser } from "./world.ts";

const organization = await newOrganization();
const admin = await newUser("Adam", { organization, role: "admin" });
const author = await newUser("Ada");
const key = await newKey(organization, ["submissions:moderate"]);

async function trailOf(id: string) {
  const { data } = await getJson(`/api/admin/audit?target_id=${id}`, auditAnswer, {
    as: admin,
    on: organization,
  });
  return data.map(({ action, actor, key_id, details }) => ({ action, actor: actor?.id, key_id, details }));
}

type Change = { action: string; method: Method; path: string; body?: object; details: object };

const changes: Change[] = [
  {
    action: "submission.set_status",
    method: "PATCH",
    path: "/status",
    body: { status: "planned", note: "Ask ann@example.com" },
    details: { status: { from: "open", to: "planned" } },
  },
  {
    action: "submission.update",
    method: "PATCH",
    path: "",
    body: { title: "What an admin calls it", tracker_issue_url: "https://tracker.example/1" },
    details: { changed: ["title", "tracker_issue_url"] },
  },
  { action: "submission.delete", method: "DELETE", path: "", details: {} },
];

it.each(changes)(
  "$action by an admin or a key is in the audit trail",
  async ({ action, method, path, body, details }) => {
    const callers: { as: Caller; actor: string; key_id: string | null }[] = [
      { as: admin, actor: admin.id, key_id: null },
      { as: key, actor: key.profileId, key_id: key.id },
    ];
    for (const { as, actor, key_id } of callers) {
      const id = await newSubmission(organization, author);
      const call = { as, ...(body && { body }) };
      expect((await api(method, `/api/submissions/${id}${path}`, call)).status).toBe(200);
      expect(await trailOf(id)).toEqual([{ action, actor, key_id, details }]);
      if (method === "PATCH") {
        await api(method, `/api/submissions/${id}${path}`, call);
        expect(await trailOf(id), "what changes nothing is not told again").toHaveLength(1);
      }
    }
  },
);

it("a comment deleted by an admin is in the audit trail once, without its replies", async () => {
  const id = await newSubmission(organization, author);
  const comment = await newComment(id, author);
  const reply = await newComment(id, author, { parent_id: comment });
  expect((await api("DELETE", `/api/comments/${comment}`, { as: admin })).status).toBe(200);
  expect(await trailOf(comment)).toEqual([
    { action: "comment.delete", actor: admin.id, key_id: null, details: { submission_id: id } },
  ]);
  expect(await trailOf(reply)).toEqual([]);
});

it("changes by authors to their own content are not in the audit trail", async () => {
  const id = await newSubmission(organization, author);
  const comment = await newComment(id, author);
  await api("PATCH", `/api/submissions/${id}`, { as: author, body: { title: "A better title" } });
  await api("DELETE", `/api/comments/${comment}`, { as: author });
  await api("DELETE", `/api/submissions/${id}`, { as: author });
  expect([await trailOf(id), await trailOf(comment)]).toEqual([[], []]);
});

it("each item of a bulk change is recorded once, like a single change", async () => {
  const id = await newSubmission(organization, author);
  const many = (body: object) =>
    api("POST", "/api/admin/bulk", { as: admin, on: organization, body: { ids: [id], ...body } });
  await many({ action: "set_status", value: "planned" });
  await many({ action: "delete" });
  expect(await trailOf(id)).toEqual([
    { action: "submission.delete", actor: admin.id, key_id: null, details: {} },
    {
      action: "submission.set_status",
      actor: admin.id,
      key_id: null,
      details: { status: { from: "open", to: "planned" } },
    },
  ]);
});

it("is filtered by actor, alone or together with a target row", async () => {
  const other = await newUser("Olga", { organization, role: "owner" });
  const [first, both] = [
    await newSubmission(organization, author),
    await newSubmission(organization, author),
  ];
  for (const [as, id, status] of [
    [other, first, "planned"],
    [other, both, "planned"],
    [admin, both, "declined"],
  ] as const)
    await api("PATCH", `/api/submissions/${id}/status`, { as, body: { status } });
  const targets = async (query: string) =>
    (await getJson(`/api/admin/audit?${query}`, auditAnswer, { as: admin, on: organization })).data.map(
      ({ target_id }) => target_id,
    );
  expect(await targets(`actor_id=${other.id}`)).toEqual([both, first]);
  expect(await targets(`actor_id=${other.id}&target_id=${both}`)).toEqual([both]);
  expect(await targets(`actor_id=${author.id}`)).toEqual([]);
  expectError(
    await api("GET", "/api/admin/audit?actor_id=me", { as: admin, on: organization }),
    "VALIDATION_ERROR",
    "actor_id",
  );
});
