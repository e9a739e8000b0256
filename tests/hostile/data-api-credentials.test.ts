import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { newUser } from "../api/world.ts";
import { stack } from "../stack.ts";

// The gateway accepts what the gateway of hosted Supabase accepts; everything else is a 401, and never anonymous.

const person = await newUser("Somebody");
const { publishable_key: publishable, secret_key: secret } = stack;
const list = "/rest/v1/organizations?select=id&limit=1";

interface Answer {
  status: number;
  body: { code?: string; message?: string; swagger?: string };
}

/** Headers as an array of names and values, so that a name can occur twice. */
function send(path: string, headers: string[], method = "GET"): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(stack.supabase_url);
    request(
      { hostname, port, path, method, headers: ["host", `127.0.0.1:${port}`, ...headers] },
      (answer) => {
        let text = "";
        answer.on("data", (chunk: Buffer) => {
          text += chunk.toString();
        });
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text || "{}") }));
      },
    )
      .on("error", reject)
      .end();
  });
}

describe("the API key", () => {
  const key = (name: string, value: string) => [name, value];
  test.each([
    ["none", list, []],
    ["an empty one", list, key("apikey", "")],
    ["an unknown one", list, key("apikey", "sb_publishable_unknown")],
    ["a user's token", list, key("apikey", person.token)],
    ["a key as Bearer only", list, key("authorization", `Bearer ${publishable}`)],
    ["two different ones", list, [...key("apikey", publishable), ...key("APIKEY", secret)]],
    ["one in the header, another in the query", `${list}&apikey=${secret}`, key("apikey", publishable)],
    ["an unknown one in the query", `${list}&apikey=x`, []],
  ])("%s: 401", async (_, path, headers) => {
    const { status, body } = await send(path, headers);
    expect([status, body.code]).toEqual([401, "UNAUTHORIZED"]);
  });

  test.each([
    ["in the header", list, key("ApiKey", publishable)],
    ["in the query, first", list.replace("?", `?apikey=${publishable}&`), []],
    ["in the query, last", `${list}&apikey=${publishable}`, []],
    ["alone in the query", `/rest/v1/organizations?apikey=${secret}`, []],
    [
      "as Bearer too, as supabase-js sends it",
      list,
      ["apikey", publishable, "authorization", `Bearer ${publishable}`],
    ],
  ])("%s: accepted, and no filter", async (_, path, headers) => {
    expect((await send(path, headers)).status).toBe(200);
  });

  test("the secret key reads what clients cannot, and is rejected from a browser", async () => {
    const path = "/rest/v1/profiles?select=email&limit=1";
    expect((await send(path, key("apikey", publishable))).status).toBe(401);
    const browser = ["user-agent", "Mozilla/5.0 (X11; Linux x86_64)"];
    for (const bearer of [[], ["authorization", `Bearer ${secret}`]]) {
      const headers = [...key("apikey", secret), ...bearer];
      expect((await send(path, headers)).body.code).not.toBe("UNAUTHORIZED");
      expect((await send(path, [...headers, ...browser])).status).toBe(401);
    }
  });

  test("the schema of the data API needs the secret key, also with a user's token", async () => {
    for (const headers of [[], ["authorization", `Bearer ${person.token}`]])
      expect((await send("/rest/v1/", [...key("apikey", publishable), ...headers])).status).toBe(401);
    const { status, body } = await send("/rest/v1/", key("apikey", secret));
    expect([status, body.swagger]).toEqual([200, "2.0"]);
  });
});

describe("Authorization", () => {
  const apikey = ["apikey", publishable];
  test.each([
    ["an empty Bearer", ["authorization", "Bearer "], "PGRST301"],
    ["another scheme", ["authorization", "Basic YTpi"], "PGRST301"],
    ["the secret key beside the publishable one", ["authorization", `Bearer ${secret}`], "PGRST301"],
    ["no token", ["authorization", "Bearer a.b.c"], "PGRST301"],
    [
      "two tokens",
      ["authorization", `Bearer ${person.token}`, "Authorization", `Bearer ${person.token}`],
      "PGRST301",
    ],
    [
      "a token without signature",
      ["authorization", `Bearer ${person.token.replace(/[^.]+$/, "")}`],
      "PGRST301",
    ],
  ])("%s: 401", async (_, headers, code) => {
    const { status, body } = await send(list, [...apikey, ...headers]);
    expect([status, body.code]).toEqual([401, code]);
  });

  test("is not removed by naming it in Connection", async () => {
    const path = "/rest/v1/notifications?select=id&limit=1";
    const token = ["authorization", `Bearer ${person.token}`];
    expect((await send(path, [...apikey, ...token, "connection", "close, authorization"])).status).toBe(200);
  });
});
