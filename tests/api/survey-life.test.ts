import { describe, expect, it } from "vitest";
import { surveyDetailAnswer } from "../../shared/surveys.ts";
import { sql } from "../stack.ts";
import { api, expectError, expectJson } from "./client.ts";
import { change, detailOf, newDraft, newSurvey, oneOfEach, respond } from "./survey-world.ts";
import { newOrganization, newUser } from "./world.ts";

const organization = await newOrganization();
const admin = await newUser("Ada Admin", { organization, role: "owner" });
const stranger = await newUser("Sam Stranger");

type Action = Parameters<typeof change>[1];
const statuses = ["draft", "published", "paused", "archived"] as const;
type Status = (typeof statuses)[number];

const wayTo: Record<Status, Action[]> = {
  draft: [],
  published: ["publish"],
  paused: ["publish", "pause"],
  archived: ["publish", "archive"],
};

async function surveyIn(status: Status): Promise<string> {
  const { id } = await newDraft(admin, organization);
  for (const action of wayTo[status]) expect((await change(id, action, admin)).status).toBe(200);
  return id;
}

const eventsOf = async (id: string) => {
  const rows = await sql<{ type: string }[]>`
    select type from private.outbox where subject_id = ${id} and type like 'survey.%' order by xid, id`;
  return rows.map(({ type }) => type);
};

describe("the status of a survey", () => {
  it("is published once: repeating changes nothing and publishes no event", async () => {
    const { id } = await newDraft(admin, organization);
    const first = expectJson(await change(id, "publish", admin), 200, surveyDetailAnswer).data;
    const second = expectJson(await change(id, "publish", admin), 200, surveyDetailAnswer).data;
    expect(second).toEqual(first);
    expect(await eventsOf(id)).toEqual(["survey.published"]);
  });

  it("ends once: archiving publishes survey.closed, pausing publishes nothing", async () => {
    const survey = await newSurvey(admin, organization);
    for (const action of ["pause", "resume", "archive", "archive"] as const) await change(survey.id, action, admin);
    expect(await eventsOf(survey.id)).toEqual(["survey.published", "survey.closed"]);
  });
});

describe("a new version", () => {
  it.each(["published", "paused"] as const)(
    "of a %s survey is a copy as a draft with a reference to it",
    async (status) => {
      const id = await surveyIn(status);
      const answer = await api("POST", `/api/surveys/${id}/versions?expand=questions`, { as: admin });
      const version = expectJson(answer, 201, surveyDetailAnswer).data;
      expect(version).toMatchObject({ status: "draft", version_of: id, response_count: 0 });
      const before = (await detailOf(id, admin, "questions")).questions ?? [];
      const plain = (questions: typeof before) =>
        questions.map(({ id: _, options, ...rest }) => ({ ...rest, options: options?.map(({ text }) => text) }));
      expect(plain(version.questions ?? [])).toEqual(plain(before));
      expect(version.questions?.some((now) => before.some((then) => then.id === now.id))).toBe(false);
      expect(await detailOf(id, admin)).toHaveProperty("status", status);
    },
  );

  it("closes the old one when it is published", async () => {
    const old = await newSurvey(admin, organization);
    const { id } = expectJson(await change(old.id, "versions", admin), 201, surveyDetailAnswer).data;
    expectJson(
      await api("PATCH", `/api/surveys/${id}`, { as: admin, body: { questions: oneOfEach.slice(0, 2) } }),
      200,
      surveyDetailAnswer,
    );
    expectJson(await change(id, "publish", admin), 200, surveyDetailAnswer);
    expect(await detailOf(old.id, admin)).toMatchObject({ status: "archived", closed_at: expect.any(String) });
    expectError(await respond(old, stranger, { 0: 9 }), "SURVEY_NOT_OPEN");
    expect(await eventsOf(old.id)).toEqual(["survey.published", "survey.closed"]);
  });

  it("published twice concurrently leaves one live version", async () => {
    const old = await newSurvey(admin, organization);
    const versions = await Promise.all(
      [1, 2].map(async () => expectJson(await change(old.id, "versions", admin), 201, surveyDetailAnswer).data.id),
    );
    const answers = await Promise.all(versions.map((id) => change(id, "publish", admin)));
    for (const { status, text } of answers) expect([200, 409], text).toContain(status);
    const after = await Promise.all([old.id, ...versions].map((id) => detailOf(id, admin)));
    expect(after.filter(({ status }) => status === "published")).toHaveLength(1);
  });
});
