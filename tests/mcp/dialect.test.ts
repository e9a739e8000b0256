import { describe, expect, test } from "vitest";
import { send } from "../api/client.ts";
import { newOrganization, newSubmission, newUser, unknownKey } from "../api/world.ts";
import { sql } from "../stack.ts";
import { callTool, newAgent, resultOf } from "./agents.ts";

const agent = await newAgent();

const post = (raw: string, as: { token: string } = agent) =>
  send("POST", "/api/mcp/tools", { as, raw, headers: { "content-type": "application/json" } });

describe("conformance to JSON-RPC", () => {
  test("a notification is executed without a response", async () => {
    const id = await newSubmission(agent.organization, await newUser());
    const vote = {
      jsonrpc: "2.0",
      method: "tools/call",
      params: { name: "vote_submission", arguments: { submission_id: id } },
    };
    const response = await post(JSON.stringify(vote));
    expect([response.status, response.text]).toEqual([204, ""]);
    expect(await resultOf(agent, "get_submission", { submission_id: id })).toMatchObject({
      submission: { has_voted: true },
    });
    const unknown = await post(JSON.stringify({ ...vote, method: "notifications/unknown" }));
    expect([unknown.status, unknown.text]).toEqual([204, ""]);
    const refusal = await post(JSON.stringify(vote), await unknownKey());
    expect([refusal.status, refusal.text]).toEqual([401, ""]);
  });
});

describe("tools", () => {
  test("without submissions:moderate it edits its own submissions only, and never an e-mail author's", async () => {
    const writer = await newAgent({
      organization: agent.organization,
      scopes: ["submissions:read", "submissions:write"],
    });
    const others = await newSubmission(agent.organization, await newUser());
    const [email] = await sql<{ id: string }[]>`
      insert into public.profiles (kind, organization_id, email) values ('email', ${agent.organization.id}, 'e@mail.example') returning id`;
    const byEmail = await newSubmission(agent.organization, email as { id: string });
    const own = await newSubmission(agent.organization, writer);
    const edit = (id: string) => callTool(writer, "update_submission", { submission_id: id, title: "Changed by it" });
    for (const id of [others, byEmail]) expect((await edit(id)).error.code).toBe(-32001);
    expect((await edit(own)).result).toBeDefined();
  });

  test("lists are short, truncate long texts, and have a flag for more", async () => {
    const crowd = await newAgent();
    for (let n = 0; n < 21; n++)
      await newSubmission(crowd.organization, crowd, { description: `${"💡".repeat(300)} ${n}`, title: `Number ${n}` });
    const first = await resultOf<{ submissions: { description: string }[] }>(crowd, "list_submissions");
    expect(first).toMatchObject({ page: 1, total: 21, has_next: true });
    expect(first.submissions).toHaveLength(20);
    expect([...(first.submissions[0]?.description ?? "")]).toHaveLength(200);
    expect(await resultOf(crowd, "list_submissions", { page: 2 })).toMatchObject({
      submissions: [{}],
      has_next: false,
    });
  });

  test("names of categories are in the requested language", async () => {
    const organization = await newOrganization();
    await sql`insert into public.categories (organization_id, name, slug, translations) values (${organization.id}, 'Mobile', 'mobile', '{"de": "Handy"}')`;
    const there = await newAgent({ organization });
    const response = await send("POST", "/api/mcp/tools", {
      as: there,
      headers: { "accept-language": "de" },
      body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "list_categories" } },
    });
    expect(response.body).toMatchObject({ result: { categories: [{ name: "Handy", slug: "mobile" }] } });
  });
});
