import { Agent } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { sql, stack } from "../stack.ts";
import { api, expectError, send } from "./client.ts";
import { newComment, newOrganization, newSubmission, newUser } from "./world.ts";

const organization = await newOrganization();
const user = await newUser("Ada", { organization, role: "admin" });
const id = await newSubmission(organization, user);
const commentId = await newComment(id, user, { body: "As it was" });

const json = { "content-type": "application/json" };
const mebibyte = 1024 * 1024;
const listeners = [
  ["the functions", () => stack.base_url],
  ["the gateway", () => stack.supabase_url],
] as const;

const pathOf = (path: string) =>
  path.replace("submissions/:id", `submissions/${id}`).replace("comments/:id", `comments/${commentId}`);

const snapshot = async () => [
  await sql`select * from public.submissions where organization_id = ${organization.id} order by id`,
  await sql`select * from public.comments where organization_id = ${organization.id} order by id`,
];

// One route is enough for the rest: every route reads its body with the same function.
describe("the body of an edit", () => {
  const good = { title: "A dark theme" };
  const call = (more: object) => api("PATCH", pathOf("/api/submissions/:id"), { as: user, ...more });
  const padded = (size: number) => {
    const text = JSON.stringify({ ...good, padding: "" });
    return text.replace('"padding":""', `"padding":"${"x".repeat(size - text.length)}"`);
  };

  it.each([
    ["UTF-16", Buffer.from(JSON.stringify(good), "utf16le")],
    ["bytes that are no UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ["a surrogate in UTF-8", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ])("rejects malformed JSON: %s", async (_, raw) => {
    const before = await snapshot();
    expectError(await call({ raw, headers: json }), "VALIDATION_ERROR", "body");
    expect(await snapshot()).toEqual(before);
  });

  it("rejects a body without a content type", async () => {
    expectError(await call({ raw: JSON.stringify(good) }), "UNSUPPORTED_MEDIA_TYPE");
  });

  it.each(listeners)("accepts 1 MiB and not one byte more, by %s", async (_, base) => {
    const at = { base: base(), headers: json };
    const [fits, over] = [padded(mebibyte), padded(mebibyte + 1)];
    expect([fits.length, over.length]).toEqual([mebibyte, mebibyte + 1]);
    const halves = (text: string) => [text.slice(0, 500_000), text.slice(500_000)];
    expect((await call({ ...at, raw: fits })).status).toBeLessThan(300);
    expect((await call({ ...at, raw: halves(fits) })).status).toBeLessThan(300);
    const before = await snapshot();
    expectError(await call({ ...at, raw: over }), "PAYLOAD_TOO_LARGE");
    expectError(await call({ ...at, raw: halves(over) }), "PAYLOAD_TOO_LARGE");
    expectError(await call({ ...at, raw: "x".repeat(3 * mebibyte) }), "PAYLOAD_TOO_LARGE");
    expect(await snapshot()).toEqual(before);
  });
});

describe("a rejected body", () => {
  it.each(listeners)("does not delay the next request on its connection to %s", async (_, base) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const call = { as: user, on: organization, base: base(), agent };
    const halves = ["x".repeat(mebibyte / 2), "x".repeat(mebibyte / 2 + 1)];
    for (let round = 0; round < 30; round++) {
      for (const raw of [halves.join(""), halves]) {
        const rejected = await api("POST", "/api/submissions", { ...call, raw, headers: json });
        expectError(rejected, "PAYLOAD_TOO_LARGE");
        const next = await Promise.race([api("GET", "/api/submissions", call), sleep(5_000, undefined)]);
        expect(next?.status, `round ${round}`).toBe(200);
      }
    }
    agent.destroy();
  });
});

describe("a Content-Length larger than the body", () => {
  it.each(listeners)("of 10 GB is rejected before the body is read, by %s", async (_, base) => {
    const { hostname, port, host } = new URL(base());
    const head = [
      "POST /api/submissions HTTP/1.1",
      `Host: ${host}`,
      `Authorization: Bearer ${user.token}`,
      "Content-Type: application/json",
      "Content-Length: 10000000000",
      "Connection: close",
      "\r\n{",
    ];
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => socket.write(head.join("\r\n")));
      socket.setTimeout(5_000, () => socket.destroy(new Error("no answer within 5 s")));
      socket.once("data", (chunk) => {
        resolve(chunk.toString());
        socket.destroy();
      });
      socket.on("error", reject);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });
});

describe("an unusual request", () => {
  it("HEAD responds like GET, without a body", async () => {
    const answer = await send("HEAD", "/api/submissions", { on: organization });
    expect([answer.status, answer.text]).toEqual([200, ""]);
    expect(answer.headers["x-request-id"]).toBeDefined();
    expect(answer.headers["x-ratelimit-limit"]).toBeDefined();
  });
});
