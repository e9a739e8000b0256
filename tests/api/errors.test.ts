import { Agent } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import {
  duplicatesAnswer,
  submissionCreatedAnswer,
  submissionDetailAnswer,
  submissionListAnswer,
} from "../../shared/submissions.ts";
import { sql, stack } from "../stack.ts";
import { api, expectError, expectJson, getJson, type Method, send } from "./client.ts";
import { longEnough, newComment, newKey, newOrganization, newSubmission, newUser, stored } from "./world.ts";

const organization = await newOrganization();
const user = await newUser("Ada", { organization, role: "admin" });
const key = await newKey(organization, ["submissions:write"]);
const id = await newSubmission(organization, user);
const commentId = await newComment(id, user, { body: "As it was" });

const idea = { title: "A dark theme", description: longEnough, type: "idea" };
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
    ["cut short", '{"title": "A dark'],
    ["not quoted", "{title: 1}"],
    ["single quotes", "{'title': 'A dark theme'}"],
    ["a trailing comma", '{"title": "A dark theme",}'],
    ["two values", "{} {}"],
    ["a blank", " "],
    ["NaN", "NaN"],
    ["HTML", "<p>Hello</p>"],
    ["a NUL byte", "\0"],
    ["a raw line break in text", '{"title": "A\ndark theme"}'],
    ["UTF-16", Buffer.from(JSON.stringify(good), "utf16le")],
    ["bytes that are no UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ["a surrogate in UTF-8", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ])("rejects malformed JSON: %s", async (_, raw) => {
    const before = await snapshot();
    expectError(await call({ raw, headers: json }), "VALIDATION_ERROR", "body");
    expect(await snapshot()).toEqual(before);
  });

  it.each(["[]", "[{}]", '"text"', "1", "true", "null"])("rejects %s in place of an object", async (raw) => {
    expectError(await call({ raw, headers: json }), "VALIDATION_ERROR", "body");
  });

  it.each([
    "text/plain",
    "text/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonp",
    "application/xml",
    "application/octet-stream",
    "application",
  ])("rejects %s", async (type) => {
    expectError(await call({ raw: JSON.stringify(good), headers: { "content-type": type } }), "UNSUPPORTED_MEDIA_TYPE");
  });

  it("rejects a body without a content type", async () => {
    expectError(await call({ raw: JSON.stringify(good) }), "UNSUPPORTED_MEDIA_TYPE");
  });

  it.each([
    "application/json;charset=UTF-8",
    "APPLICATION/JSON",
    "application/json ; charset=utf-8",
    "application/merge-patch+json",
  ])("accepts %s", async (type) => {
    expect((await call({ raw: JSON.stringify(good), headers: { "content-type": type } })).status).toBeLessThan(300);
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

  it("stops parsing deeply nested JSON at the limit", async () => {
    const depth = 100_000;
    const deep = "[".repeat(depth) + "]".repeat(depth);
    expectError(await call({ raw: deep, headers: json }), "VALIDATION_ERROR", "body");
    const inside = JSON.stringify({ ...good, unknown: 1 }).replace('"unknown":1', `"unknown":${deep}`);
    expect((await call({ raw: inside, headers: json })).status).toBeLessThan(300);
    const objects = `${'{"title":'.repeat(depth)}1${"}".repeat(depth)}`;
    expect((await call({ raw: objects, headers: json })).status).toBeLessThan(500);
  });

  it("treats property names with a meaning in JavaScript as unknown fields", async () => {
    const raw = JSON.stringify({ ...good, x: 1 }).replace(
      '"x":1',
      '"__proto__":{"status":"declined"},"constructor":{"prototype":{}},"toString":1',
    );
    expect((await call({ raw, headers: json })).status).toBeLessThan(300);
    expect((await stored("submissions", id))?.status).toBe("open");
  });
});

it.each([
  ["POST /api/submissions, which needs fields", "/api/submissions", 400],
  ["POST /api/submissions/:id/vote, which needs none", "/api/submissions/:id/vote", 200],
] as const)("a missing body of %s is {}, with or without a content type", async (_, path, expected) => {
  const call = (more: object) => api("POST", pathOf(path), { as: user, on: organization, ...more });
  const empty = await call({ body: {} });
  for (const more of [
    {},
    { headers: json },
    { raw: "", headers: json },
    { raw: "", headers: { "content-type": "text/plain" } },
  ]) {
    const { status, body } = await call(more);
    expect(status).toBe(expected);
    if (status >= 400) expect(body).toEqual(empty.body);
  }
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

describe("text", () => {
  const fields: [string, (value: string) => Promise<Awaited<ReturnType<typeof api>>>][] = [
    ["title", (title) => api("POST", "/api/submissions", { as: user, on: organization, body: { ...idea, title } })],
    [
      "description",
      (description) => api("POST", "/api/submissions", { as: user, on: organization, body: { ...idea, description } }),
    ],
    ["title", (title) => api("PATCH", `/api/submissions/${id}`, { as: user, body: { title } })],
    ["description", (description) => api("PATCH", `/api/submissions/${id}`, { as: user, body: { description } })],
    [
      "tracker_issue_url",
      (text) =>
        api("PATCH", `/api/submissions/${id}`, {
          as: user,
          body: { tracker_issue_url: `https://example.org/${text}` },
        }),
    ],
    ["note", (note) => api("PATCH", `/api/submissions/${id}/status`, { as: user, body: { status: "planned", note } })],
    ["body", (body) => api("POST", `/api/submissions/${id}/comments`, { as: user, body: { body } })],
    ["body", (body) => api("PATCH", `/api/comments/${commentId}`, { as: user, body: { body } })],
    ["title", (title) => api("POST", "/api/submissions/check-duplicates", { on: organization, body: { title } })],
    [
      "description",
      (description) =>
        api("POST", "/api/submissions/check-duplicates", { on: organization, body: { title: "Dark", description } }),
    ],
    [
      "author_name",
      (author_name) =>
        api("POST", `/api/submissions/${id}/vote`, { as: key, body: { author_email: "a@example.org", author_name } }),
    ],
  ];
  const bad = [
    ["NUL", "long enough to be taken \0 but for this"],
    ["half a pair", "long enough to be taken \ud83d but for this"],
    ["the other half", "long enough to be taken \ude00 but for this"],
    ["a pair in reverse", "long enough to be taken \ude00\ud83d but for this"],
  ] as const;

  it.each(
    fields.flatMap(([field, write], index) => bad.map(([what, text]) => [field, what, text, write, index] as const)),
  )("of %s with %s is rejected", async (field, _, text, write) => {
    const before = await snapshot();
    expectError(await write(text), "VALIDATION_ERROR", field);
    expect(await snapshot()).toEqual(before);
  });

  it.each([
    ["title of 5", { title: "x".repeat(5) }],
    ["title of 200", { title: "x".repeat(200) }],
    ["title of 5 emoji", { title: "😀".repeat(5) }],
    ["title of 200 emoji", { title: "😀".repeat(200) }],
    ["title of 200 with blanks around", { title: "x".repeat(200) }, { title: `\u00a0 ${"x".repeat(200)}\t` }],
    ["description of 20", { description: "x".repeat(20) }],
    ["description of 5000", { description: "x".repeat(5000) }],
    ["description of 20 emoji", { description: "👍".repeat(20) }],
    ["description of 5000 emoji", { description: "👍".repeat(5000) }],
    ["title right to left", { title: "أضف الوضع الداكن \u200f(ABC) עברית" }],
    ["title with controls of direction", { title: "abc \u202e fed \u202c ghi \u2066x\u2069" }],
    ["title of combining marks, as they came", { title: "e\u0301e\u0301e\u0301 Å\u0327" }],
    ["title with quotes and backslashes", { title: `"it's" \\ \\u0041 \${x} %s $1` }],
    ["description with lines", { description: "one\r\ntwo\n\n\tthree and then some more" }],
    ["title with joined emoji", { title: "👨‍👩‍👧‍👦🏳️‍🌈 family" }],
    ["title beyond the basic plane", { title: "𠮷野家𝒳𝒴" }],
  ])("%s is stored unchanged", async (_, expected, sent: object = expected) => {
    const { data } = expectJson(
      await api("POST", "/api/submissions", { as: user, on: organization, body: { ...idea, ...sent } }),
      201,
      submissionCreatedAnswer,
    );
    const shown = await getJson(`/api/submissions/${data.id}`, submissionDetailAnswer);
    expect(shown.data).toMatchObject(expected);
  });

  it.each([
    ["title of 4 emoji", { title: "😀".repeat(4) }, "title"],
    ["title of 201 emoji", { title: "😀".repeat(201) }, "title"],
    ["title of zero-width blanks", { title: "\uFEFF".repeat(10) }, "title"],
    ["description of 19 emoji", { description: "😀".repeat(19) }, "description"],
    ["description of 5001 emoji", { description: "😀".repeat(5001) }, "description"],
  ])("%s is rejected", async (_, body, field) => {
    expectError(
      await api("POST", "/api/submissions", { as: user, on: organization, body: { ...idea, ...body } }),
      "VALIDATION_ERROR",
      field,
    );
  });
});

describe("a missing resource", () => {
  it.each([
    ["GET", "/api/nothing"],
    ["GET", "/api"],
    ["GET", "/api/"],
    ["POST", "/api/nothing"],
    ["GET", "/api/submissions/"],
    ["GET", "/api/submissions//"],
    ["GET", "/api/Submissions"],
    ["GET", "/api/submissions/x/y/z"],
    ["GET", "/api/submissions/%E0%A4%A"],
    ["GET", "/api/submissions/%2e%2e"],
    ["GET", "/api/comments"],
    ["GET", "/api/me"],
    ["GET", "/api/.env"],
    ["PUT", "/api/submissions"],
    ["DELETE", "/api/submissions"],
    ["PATCH", "/api/submissions"],
    ["POST", "/api/submissions/search"],
    ["GET", "/api/submissions/check-duplicates"],
    ["PUT", "/api/submissions/00000000-0000-4000-8000-000000000000"],
    ["GET", "/api/submissions/00000000-0000-4000-8000-000000000000/vote"],
    ["PATCH", "/api/submissions/00000000-0000-4000-8000-000000000000/vote"],
  ] as const)("%s %s returns 404 in the general envelope", async (method, path) => {
    for (const [, base] of listeners) {
      expectError(
        await api(method, path, { base: base(), ...(method === "GET" ? {} : { as: user, body: {} }) }),
        "NOT_FOUND",
      );
    }
  });
});

describe("an unusual request", () => {
  it.each([
    "?__proto__=1&constructor=2&toString=3",
    "?q[]=1&status[eq]=2",
    "?%00=1",
    "?&&&=",
    "?limit=5#fragment",
    `?x=${"y".repeat(6000)}`,
  ])("is handled: %s", async (query) => {
    await getJson(`/api/submissions${query}`, submissionListAnswer, { on: organization });
  });

  it("HEAD responds like GET, without a body", async () => {
    const answer = await send("HEAD", "/api/submissions", { on: organization });
    expect([answer.status, answer.text]).toEqual([200, ""]);
    expect(answer.headers["x-request-id"]).toBeDefined();
    expect(answer.headers["x-ratelimit-limit"]).toBeDefined();
  });

  it("a body on GET is ignored", async () => {
    const call = { on: organization, raw: "{nonsense", headers: { "content-type": "text/plain" } };
    await getJson("/api/submissions", submissionListAnswer, call);
  });

  it("a byte order mark before JSON is accepted", async () => {
    const raw = `\uFEFF${JSON.stringify({ title: "Dark theme" })}`;
    const call = { on: organization, raw, headers: json };
    expectJson(await api("POST", "/api/submissions/check-duplicates", call), 200, duplicatesAnswer);
  });
});

it.each<[Method, string, object]>([
  ["GET", "/api/nothing", {}],
  ["GET", "/api/submissions?page=0", { on: organization }],
  ["GET", "/api/submissions", { on: { slug: "nowhere" } }],
  ["PATCH", "/api/submissions/nonsense", { raw: "{", headers: json }],
  ["DELETE", "/api/submissions/nonsense", {}],
])("an invalid credential takes precedence over other errors: %s %s", async (method, path, call) => {
  expectError(await api(method, path, { as: { token: "nonsense" }, ...call }), "UNAUTHORIZED");
});
