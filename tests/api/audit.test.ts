import { expect, it } from "vitest";
import { auditAnswer } from "../../shared/audit.ts";
import { api, type Caller, getJson, type Method, send } from "./client.ts";
import { change, newDraft, newSurvey, respond } from "./survey-world.ts";
import { newComment, newKey, newOrganization, newSubmission, newUser } from "./world.ts";

const organization = await newOrganization();
const admin = await newUser("Adam", { organization, role: "admin" });
const author = await newUser("Ada");
const key = await newKey(organization, ["submissions:moderate"]);

async function trailOf(id: string) {
  const { data } = await getJson(`/api/admin/audit?target_id=${id}`, auditAnswer, { as: admin, on: organization });
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

const actionsOn = async (id: string) => (await trailOf(id)).map(({ action }) => action).toReversed();

it("the life of a survey is recorded, step by step, with the changed fields", async () => {
  const { id } = await newDraft(admin, organization, { settings: { show_branding: false } });
  await api("PATCH", `/api/surveys/${id}`, { as: admin, body: { title: "Another", description: "Why" } });
  await api("PATCH", `/api/surveys/${id}`, {
    as: admin,
    body: { questions: [{ type: "multiple_choice", text: "Which?", options: ["a", "b"] }] },
  });
  await api("PATCH", `/api/surveys/${id}`, { as: admin, body: { title: "Another" } });
  for (const step of ["publish", "pause", "pause", "resume", "versions", "archive"] as const)
    await change(id, step, admin);
  await api("DELETE", `/api/surveys/${id}`, { as: admin });
  expect((await trailOf(id)).map(({ action, actor, details }) => ({ action, actor, details })).toReversed()).toEqual(
    [
      { action: "survey.create", details: {} },
      { action: "survey.update", details: { changed: ["description", "title"] } },
      { action: "survey.update", details: { changed: ["questions"] } },
      { action: "survey.publish", details: {} },
      { action: "survey.pause", details: {} },
      { action: "survey.resume", details: {} },
      { action: "survey.archive", details: {} },
      { action: "survey.delete", details: { status: "archived" } },
    ].map((entry) => ({ ...entry, actor: admin.id })),
  );
});

it("a version of a survey is recorded as created from it, and what only archives the former one is not", async () => {
  const { id } = await newSurvey(admin, organization);
  const { body } = await change(id, "versions", admin);
  const version = (body as { data: { id: string } }).data.id;
  await change(version, "publish", admin);
  expect(await trailOf(version)).toMatchObject([
    { action: "survey.publish" },
    { action: "survey.create", details: { version_of: id } },
  ]);
  expect(await actionsOn(id)).toEqual(["survey.create", "survey.publish"]);
});

it("answers and voters that are read are recorded once an hour for each reader, and each export of answers", async () => {
  const survey = await newSurvey(admin, organization);
  await respond(survey, author, { 0: 9 });
  const path = `/api/surveys/${survey.id}/responses`;
  const reader = await newKey(organization, ["surveys:read", "responses:read", "submissions:moderate"]);
  for (const as of [admin, reader, author, admin]) await api("GET", path, { as });
  await send("GET", `${path}?format=csv`, { as: reader });
  await send("GET", `${path}?format=csv`, { as: reader });
  expect((await trailOf(survey.id)).slice(0, 4)).toMatchObject([
    { action: "survey.export", actor: reader.profileId, key_id: reader.id },
    { action: "survey.export", key_id: reader.id },
    { action: "survey.read_responses", key_id: reader.id },
    { action: "survey.read_responses", actor: admin.id },
  ]);
  const id = await newSubmission(organization, author);
  for (const as of [admin, author, reader, admin]) await api("GET", `/api/submissions/${id}/voters`, { as });
  expect(await actionsOn(id)).toEqual(["submission.read_voters", "submission.read_voters"]);
});

it("a survey by mail, a joined team and a transfer are recorded", async () => {
  const own = await newOrganization();
  const [owner, invited] = [await newUser("Olga", { organization: own, role: "owner" }), await newUser("Ina")];
  await api("PATCH", `/api/organizations/${own.id}`, { as: owner, body: { mail_enabled: true } });
  const submission_id = await newSubmission(own, invited);
  const survey = await newSurvey(owner, own, { targeting: { audience: "voters", submission_id } });
  expect((await api("POST", `/api/surveys/${survey.id}/mail`, { as: owner })).status).toBe(200);
  const invite = await api("POST", `/api/organizations/${own.id}/invites`, {
    as: owner,
    body: { email: invited.email, role: "member" },
  });
  const { token } = (invite.body as { data: { token: string } }).data;
  await api("POST", "/api/invites/accept", { as: invited, body: { token } });
  await api("POST", `/api/organizations/${own.id}/transfer`, { as: owner, body: { user_id: invited.id } });
  const { data } = await getJson("/api/admin/audit", auditAnswer, { as: invited, on: own });
  expect(data.map(({ action }) => action)).toEqual(
    expect.arrayContaining(["survey.mail", "invite.create", "invite.accept", "member.transfer"]),
  );
});

it("is filtered by actor, alone or together with a target row", async () => {
  const other = await newUser("Olga", { organization, role: "owner" });
  const [first, both] = [await newSubmission(organization, author), await newSubmission(organization, author)];
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
});
