import { beforeAll, describe, expect, it } from "vitest";
import { surveyDetailAnswer } from "../../shared/surveys.ts";
import { sql } from "../stack.ts";
import { answered, api, refused } from "./client.ts";
import { change, detailOf, newDraft, newSurvey, oneOfEach, respond } from "./survey-world.ts";
import { newKey, newOrganization, newUser, type Organization, type User } from "./world.ts";

let organization: Organization;
let admin: User;
let stranger: User;

beforeAll(async () => {
  organization = await newOrganization();
  admin = await newUser("Ada Admin", { organization, role: "owner" });
  stranger = await newUser("Sam Stranger");
});

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

describe("the life of a survey", () => {
  const next: Record<Exclude<Action, "versions">, Record<Status, Status | null>> = {
    publish: { draft: "published", published: "published", paused: null, archived: null },
    pause: { draft: null, published: "paused", paused: "paused", archived: null },
    resume: { draft: null, published: "published", paused: "published", archived: null },
    archive: { draft: "archived", published: "archived", paused: "archived", archived: "archived" },
  };

  it.each(
    Object.entries(next).flatMap(([action, to]) =>
      statuses.map((from) => ({ action: action as keyof typeof next, from, to: to[from] })),
    ),
  )("$action takes $from to $to", async ({ action, from, to }) => {
    const id = await surveyIn(from);
    const answer = await change(id, action, admin);
    if (to === null) {
      refused(answer, "CONFLICT", "status");
      expect(await detailOf(id, admin)).toHaveProperty("status", from);
    } else {
      const shown = answered(answer, 200, surveyDetailAnswer).data;
      expect(shown.status).toBe(to);
      expect(shown).toEqual(await detailOf(id, admin));
    }
  });

  it("can be published once: again changes nothing and tells nobody", async () => {
    const { id } = await newDraft(admin, organization);
    const first = answered(await change(id, "publish", admin), 200, surveyDetailAnswer).data;
    const second = answered(await change(id, "publish", admin), 200, surveyDetailAnswer).data;
    expect(second).toEqual(first);
    expect(await eventsOf(id)).toEqual(["survey.published"]);
  });

  it("ends once: archiving tells survey.closed, pauses tell nothing", async () => {
    const survey = await newSurvey(admin, organization);
    for (const action of ["pause", "resume", "archive", "archive"] as const)
      await change(survey.id, action, admin);
    expect(await eventsOf(survey.id)).toEqual(["survey.published", "survey.closed"]);
  });

  it("shows the questions where they are asked for", async () => {
    const { id } = await newDraft(admin, organization);
    const answer = await api("POST", `/api/surveys/${id}/publish?expand=questions`, { as: admin });
    expect(answered(answer, 200, surveyDetailAnswer).data.questions).toHaveLength(oneOfEach.length);
  });

  it("is for admins and keys that publish surveys", async () => {
    const member = await newUser("Mel Member", { organization, role: "member" });
    const rival = await newUser("Rita Rival", { organization: await newOrganization(), role: "owner" });
    const writer = await newKey(organization, ["surveys:read", "surveys:write"]);
    const publisher = await newKey(organization, ["surveys:publish"]);
    const { id } = await newDraft(admin, organization);
    refused(await change(id, "publish", member), "FORBIDDEN");
    refused(await change(id, "publish", writer), "FORBIDDEN");
    for (const as of [stranger, rival]) refused(await change(id, "publish", as), "NOT_FOUND");
    answered(await change(id, "publish", publisher), 200, surveyDetailAnswer);
    for (const as of [stranger, rival, member]) refused(await change(id, "archive", as), "FORBIDDEN");
  });

  it("does not begin without questions, nor after its end", async () => {
    const empty = await newDraft(admin, organization, { questions: [] });
    refused(await change(empty.id, "publish", admin), "CONFLICT", "questions");
    const late = await newDraft(admin, organization, { closes_at: "2020-01-01T00:00:00Z" });
    refused(await change(late.id, "publish", admin), "CONFLICT", "closes_at");
  });
});

describe("a new version", () => {
  it.each(["published", "paused"] as const)(
    "of a %s survey is a draft like it that remembers it",
    async (status) => {
      const id = await surveyIn(status);
      const answer = await api("POST", `/api/surveys/${id}/versions?expand=questions`, { as: admin });
      const version = answered(answer, 201, surveyDetailAnswer).data;
      expect(version).toMatchObject({ status: "draft", version_of: id, response_count: 0 });
      const before = (await detailOf(id, admin, "questions")).questions ?? [];
      const plain = (questions: typeof before) =>
        questions.map(({ id: _, options, ...rest }) => ({
          ...rest,
          options: options?.map(({ text }) => text),
        }));
      expect(plain(version.questions ?? [])).toEqual(plain(before));
      expect(version.questions?.some((now) => before.some((then) => then.id === now.id))).toBe(false);
      expect(await detailOf(id, admin)).toHaveProperty("status", status);
    },
  );

  it.each(["draft", "archived"] as const)("is not made of a survey that is %s", async (status) => {
    refused(await change(await surveyIn(status), "versions", admin), "CONFLICT", "status");
  });

  it("closes the old one when it is published", async () => {
    const old = await newSurvey(admin, organization);
    const { id } = answered(await change(old.id, "versions", admin), 201, surveyDetailAnswer).data;
    answered(
      await api("PATCH", `/api/surveys/${id}`, { as: admin, body: { questions: oneOfEach.slice(0, 2) } }),
      200,
      surveyDetailAnswer,
    );
    answered(await change(id, "publish", admin), 200, surveyDetailAnswer);
    expect(await detailOf(old.id, admin)).toMatchObject({
      status: "archived",
      closed_at: expect.any(String),
    });
    refused(await respond(old, stranger, { 0: 9 }), "SURVEY_NOT_OPEN");
    expect(await eventsOf(old.id)).toEqual(["survey.published", "survey.closed"]);
  });

  it("published by two at once leaves one that is live", async () => {
    const old = await newSurvey(admin, organization);
    const versions = await Promise.all(
      [1, 2].map(
        async () => answered(await change(old.id, "versions", admin), 201, surveyDetailAnswer).data.id,
      ),
    );
    const answers = await Promise.all(versions.map((id) => change(id, "publish", admin)));
    for (const { status, text } of answers) expect([200, 409], text).toContain(status);
    const after = await Promise.all([old.id, ...versions].map((id) => detailOf(id, admin)));
    expect(after.filter(({ status }) => status === "published")).toHaveLength(1);
  });
});
