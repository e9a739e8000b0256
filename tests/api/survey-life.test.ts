import { describe, expect, it } from "vitest";
import { surveyDetailAnswer } from "../../shared/surveys.ts";
import { sql } from "../stack.ts";
import { expectJson } from "./client.ts";
import { change, detailOf, newDraft, newSurvey } from "./survey-world.ts";
import { newOrganization, newUser } from "./world.ts";

const organization = await newOrganization();
const admin = await newUser("Ada Admin", { organization, role: "owner" });

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

  it("ends once: archiving or a newer version publishes survey.closed, pausing publishes nothing", async () => {
    const [archived, replaced] = [await newSurvey(admin, organization), await newSurvey(admin, organization)];
    for (const action of ["pause", "resume", "archive", "archive"] as const) await change(archived.id, action, admin);
    const version = expectJson(await change(replaced.id, "versions", admin), 201, surveyDetailAnswer).data.id;
    for (const action of ["publish", "publish"] as const) await change(version, action, admin);
    for (const { id } of [archived, replaced])
      expect(await eventsOf(id)).toEqual(["survey.published", "survey.closed"]);
  });
});

describe("a new version", () => {
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
