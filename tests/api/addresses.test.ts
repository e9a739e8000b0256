import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { stack } from "../stack.ts";
import { type Answer, api, expectError, type Method, send } from "./client.ts";
import { newKey, newOrganization, newSubmission, newUser } from "./world.ts";

const organization = await newOrganization();
const user = await newUser("Una User");
const id = await newSubmission(organization, user);
const on = { on: organization, as: user };
const bases = [stack.base_url, stack.supabase_url, `${stack.supabase_url}/functions/v1`];
const allowOf = ({ headers }: Answer) => headers.allow?.split(", ").toSorted().join(" ");

describe("a method that a path does not have", () => {
  const wrong: [Method, path: string, allowed: string][] = [
    ["PUT", "/submissions", "GET HEAD OPTIONS POST"],
    ["DELETE", "/submissions/?limit=1", "GET HEAD OPTIONS POST"],
    ["POST", `/submissions/${id}`, "DELETE GET HEAD OPTIONS PATCH"],
    ["POST", "/submissions/not-an-id", "DELETE GET HEAD OPTIONS PATCH"],
    // Not an id of /submissions/:id, which has these methods.
    ["GET", "/submissions/check-duplicates", "OPTIONS POST"],
    ["DELETE", "/submissions/search", "GET HEAD OPTIONS"],
    ["PATCH", "/admin/categories/order/", "OPTIONS PUT"],
    ["DELETE", "/admin/identify-secrets/check", "OPTIONS POST"],
    ["GET", `/submissions/${id}/vote`, "DELETE OPTIONS POST"],
    ["PATCH", `/admin/agents/${randomUUID()}/keys/${randomUUID()}/rotate`, "OPTIONS POST"],
    ["PUT", "/health", "GET HEAD OPTIONS"],
    ["POST", "/ready/", "GET HEAD OPTIONS"],
    ["DELETE", "/openapi.json", "GET HEAD OPTIONS"],
    ["POST", "/docs", "GET HEAD OPTIONS"],
    ["GET", "/imports/run", "OPTIONS POST"],
  ];

  test.each(wrong)("%s %s is a 405 with Allow", async (method, path, allowed) => {
    for (const base of bases) {
      const answer = await api(method, `/api${path}`, { ...on, base });
      expectError(answer, "METHOD_NOT_ALLOWED");
      expect(allowOf(answer)).toBe(allowed);
    }
  });

  test("is not read, and an invalid credential and an unknown path take precedence", async () => {
    const { token } = await newKey(organization, ["submissions:write"]);
    expectError(await api("PUT", "/api/submissions", { as: { token }, raw: "{" }), "METHOD_NOT_ALLOWED");
    expectError(await api("PUT", "/api/submissions", { as: { token: "fcs_org_x" } }), "UNAUTHORIZED");
    expectError(await api("PUT", "/api/nowhere", on), "NOT_FOUND");
  });

  test("HEAD and OPTIONS are methods of every path that has GET", async () => {
    for (const path of ["/submissions", "/submissions/", `/submissions/${id}/`, "/health/", "/openapi.json"]) {
      const head = await send("HEAD", `/api${path}`, on);
      expect([path, head.status, head.text]).toEqual([path, 200, ""]);
      expect((await send("OPTIONS", `/api${path}`, on)).status).toBe(204);
    }
    expect((await send("HEAD", "/api/submissions/check-duplicates", on)).status).toBe(405);
  });
});

test.each([
  ["GET", "/submissions/?limit=1", 200],
  ["GET", "/submissions/search/?q=export", 200],
  ["GET", `/submissions/${id}/`, 200],
  ["POST", `/submissions/${id}/vote/`, 201],
  ["GET", "/health/", 200],
  ["GET", "/ready/", 200],
  ["GET", "/docs/", 200],
  ["GET", "/mcp/health/", 200],
] as const)("a slash at the end does not count: %s %s", async (method, path, status) => {
  for (const base of bases)
    expect([base, [status, 200].includes((await send(method, `/api${path}`, { ...on, base })).status)]).toEqual([
      base,
      true,
    ]);
});

test.each(["//submissions", "/submissions//", "/submissions%2F", "/submissions/%20/", "/", "", "/submissions.json"])(
  "another address is a 404: /api%s",
  async (path) => {
    for (const base of bases) expectError(await api("GET", `/api${path}`, { ...on, base }), "NOT_FOUND");
  },
);
