import { describe, expect, it } from "vitest";
import { submissionListAnswer } from "../../shared/submissions.ts";
import { sql } from "../stack.ts";
import { api, type Caller, expectJson, getJson } from "./client.ts";
import { longEnough, merge, newKey, newOrganization, newSubmission, newUser, newUsers, type User } from "./world.ts";

const [ada, ben] = (await newUsers(2)) as [User, User];

describe("the list of submissions", () => {
  it("sorts titles as people do, at pages and cursors", async () => {
    const words = ["apple", "Apple", "Banana", "Éclair", "éclair", "Fudge", "zebra", "Ärger", "日本"];
    const inOrder = ["apple", "Apple", "Ärger", "Banana", "éclair", "Éclair", "Fudge", "zebra", "日本"];
    const bakery = await newOrganization();
    for (const word of words) await newSubmission(bakery, ada, { title: `${word} pie wanted` });
    for (const order of ["asc", "desc"]) {
      const read: string[] = [];
      let cursor = "";
      do {
        const { data, meta } = await getJson(
          `/api/submissions?sort=title&order=${order}&limit=2${cursor}`,
          submissionListAnswer,
          { on: bakery },
        );
        read.push(...data.map(({ title }) => title.split(" ")[0] ?? ""));
        cursor = meta.next_cursor ? `&cursor=${meta.next_cursor}` : "";
      } while (cursor);
      expect(read).toEqual(order === "asc" ? inOrder : inOrder.toReversed());
    }
  });

  it("has a total of the rows visible to the caller, for every filter and after every change", async () => {
    const board = await newOrganization({ require_approval: true });
    const [category] = await sql<[{ id: string }]>`
      insert into public.categories (organization_id, name, slug) values (${board.id}, 'Web', 'web') returning id`;
    const admin = await newUser("Adam", { organization: board, role: "admin" });
    const member = await newUser("Mia", { organization: board, role: "member" });
    const key = await newKey(board, ["submissions:read", "submissions:write"]);
    const body = { title: "Something", description: longEnough, type: "idea" };
    const post = async (as: Caller, more = {}) => {
      const answer = await api("POST", "/api/submissions", { as, on: board, body: { ...body, ...more } });
      return (answer.body as { data: { id: string } }).data.id;
    };
    const pending = [
      await post(ada),
      await post(ada, { category_id: category.id }),
      await post(ben, { type: "problem" }),
    ];
    const open = [
      await post(member),
      await post(member, { type: "problem", category_id: category.id }),
      await post(member),
    ];
    const change = (id: string | undefined, status: string) =>
      api("PATCH", `/api/submissions/${id}/status`, { as: admin, body: { status } });
    await change(open[0], "planned");
    await change(pending[1], "planned");
    await merge(String(open[2]), String(open[1]));
    const moderate = (id: string | undefined, state: string) =>
      sql`update public.submissions set moderation_state = ${state} where id = ${String(id)}`;

    const check = async () => {
      for (const as of [undefined, ada, ben, member, admin, key]) {
        for (const query of [
          "",
          "status=open",
          "status=planned",
          "type=idea",
          "type=problem",
          "category=web",
          "type=idea&status=open&category=web",
        ]) {
          const answer = await api("GET", `/api/submissions?limit=100&${query}`, { as, on: board });
          const { data, meta } = expectJson(answer, 200, submissionListAnswer);
          expect(meta.total, query).toBe(data.length);
        }
      }
    };
    const total = async (as?: Caller) =>
      (await getJson("/api/submissions", submissionListAnswer, { as, on: board })).meta.total;
    await check();
    expect([await total(), await total(ada), await total(ben), await total(member), await total(key)]).toEqual([
      2, 4, 3, 5, 5,
    ]);
    await moderate(pending[0], "approved");
    await moderate(pending[2], "spam");
    await api("PATCH", `/api/submissions/${pending[0]}`, { as: ada, body: { category_id: category.id } });
    await check();
    expect([await total(), await total(ada), await total(ben), await total(member)]).toEqual([3, 4, 4, 5]);
    await sql`delete from public.categories where id = ${category.id}`;
    await api("DELETE", `/api/submissions/${open[0]}`, { as: admin });
    await check();
    expect(await total()).toBe(2);
    await sql`update public.organizations set visibility = 'private' where id = ${board.id}`;
    expect([await total(member), await total(key)]).toEqual([4, 4]);
    await sql`update public.organizations set visibility = 'public' where id = ${board.id}`;
    await check();
    expect(await total()).toBe(2);
  });
});
