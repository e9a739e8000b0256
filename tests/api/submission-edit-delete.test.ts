import { describe, expect, it } from "vitest";
import { deletedAnswer, submissionDetailAnswer } from "../../shared/submissions.ts";
import { sql } from "../stack.ts";
import { api, type Caller, expectError, expectJson } from "./client.ts";
import { longEnough, newComment, newOrganization, newSubmission, newUser, only, stored } from "./world.ts";

const organization = await newOrganization();
const author = await newUser("Ada");
const stranger = await newUser("Sam");

const patch = (id: string, body: unknown, as?: Caller) => api("PATCH", `/api/submissions/${id}`, { as, body });
const remove = (id: string, as?: Caller) => api("DELETE", `/api/submissions/${id}`, { as });
const newIdea = (by: { id: string } = author) => newSubmission(organization, by, { title: "As it was" });

describe("editing a submission", () => {
  it("changes the given fields only", async () => {
    const [category] = await sql<{ id: string }[]>`
      insert into public.categories (organization_id, name, slug) values (${organization.id}, 'Web', 'web') returning id`;
    const category_id = only(category).id;
    const id = await newIdea();
    const before = only(await stored("submissions", id));
    for (const change of [
      { title: "New title" },
      { description: `New. ${longEnough}` },
      { category_id },
      { category_id: null },
    ]) {
      const { data } = expectJson(await patch(id, change, author), 200, submissionDetailAnswer);
      expect(data).toMatchObject(change);
    }
    const after = only(await stored("submissions", id));
    expect(after.updated_at).not.toEqual(before.updated_at);
    expect(after).toEqual({
      ...before,
      title: "New title",
      description: `New. ${longEnough}`,
      updated_at: after.updated_at,
      is_changed_by_author: true,
    });
  });
});

describe("deleting a submission", () => {
  it("deletes its votes, comments, follows and notifications", async () => {
    const id = await newIdea();
    await api("POST", `/api/submissions/${id}/vote`, { as: stranger });
    const comment = await newComment(id, stranger);
    await newComment(id, author, { parent_id: comment });
    expectJson(await remove(id, author), 200, deletedAnswer);
    const [left] = await sql`select
      (select count(*)::int from public.votes where submission_id = ${id}) as votes,
      (select count(*)::int from public.comments where submission_id = ${id}) as comments,
      (select count(*)::int from public.follows where submission_id = ${id}) as follows,
      (select count(*)::int from public.notifications where submission_id = ${id}) as notifications`;
    expect(left).toEqual({ votes: 0, comments: 0, follows: 0, notifications: 0 });
    expectError(await api("GET", `/api/submissions/${id}`), "NOT_FOUND");
    expectError(await api("GET", `/api/comments/${comment}`), "NOT_FOUND");
  });
});
