import { describe, expect, it } from "vitest";
import { submissionDetailAnswer } from "../../shared/submissions.ts";
import { sql } from "../stack.ts";
import { api, expectJson } from "./client.ts";
import { newComment, newOrganization, newSubmission, newUser } from "./world.ts";

const organization = await newOrganization();

describe("the detail of a submission", () => {
  it("names a deleted author Anonymous, and keeps their content", async () => {
    const leaver = await newUser("Lee Leaver");
    const left = await newSubmission(organization, leaver, { title: "What was left" });
    await newComment(left, leaver, { body: "Bye" });
    await sql`delete from auth.users where id = ${leaver.id}`;
    const answer = await api("GET", `/api/submissions/${left}?expand=author,comments`);
    const { data } = expectJson(answer, 200, submissionDetailAnswer);
    expect(data).toMatchObject({ title: "What was left", vote_count: 1, comment_count: 1 });
    expect([data.author?.name, data.comments?.[0]?.author.name]).toEqual(["Anonymous", "Anonymous"]);
    expect(answer.text).not.toContain("Leaver");
  });
});
