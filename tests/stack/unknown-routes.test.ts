import { Agent } from "node:http";
import { describe, expect, test } from "vitest";
import { send } from "../http.ts";
import { stack } from "../stack.ts";

const agent = new Agent();

// Clients of Supabase show the message at the top of an error, and pages of other origins can read it.
describe.each(["GET", "POST", "PUT", "DELETE"])("%s of a route that is not there", (method) => {
  test.each([
    ["/auth/v1/nowhere", "msg"],
    ["/auth/v1/factors/x/verify", "msg"],
    ["/rest/v1/submissions/nowhere", "message"],
    ["/rest/v1/rpc/a/b", "message"],
    ["/realtime/v1/nowhere", "message"],
    ["/realtime/v1/", "message"],
    ["/functions/v1/nowhere", "message"],
    ["/functions/v1", "message"],
    ["/storage/v1/nowhere", "message"],
    ["/storage/v1/object/public/a/b.png", "message"],
    ["/graphql/v1", "message"],
  ])("%s", async (path, field) => {
    const headers = { apikey: stack.publishable_key, origin: "https://app.example" };
    const answer = await send(method, stack.supabase_url + path, { agent, headers });
    const body = answer.body as Record<string, unknown>;
    expect(body[field]).toEqual(expect.any(String));
    expect(body.error).not.toEqual(expect.any(Object));
    expect([answer.status >= 400, answer.headers["access-control-allow-origin"]]).toEqual([true, "*"]);
  });
});

test.each(["/functions/v1/nowhere", "/realtime/v1/nowhere", "/storage/v1/nowhere"])(
  "a preflight of %s passes",
  async (path) => {
    const headers = { origin: "https://app.example", "access-control-request-method": "POST" };
    const { status, headers: received } = await send("OPTIONS", stack.supabase_url + path, { agent, headers });
    expect([status < 300, received["access-control-allow-origin"]]).toEqual([true, "*"]);
  },
);
