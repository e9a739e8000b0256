import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { afterEach, expect, expectTypeOf, test } from "vitest";
import { clientTypes, clientTypesOf } from "../../local/development/client-types.ts";
import { root } from "../../local/postgres/database-server.ts";
import { createFeedbackClient, FeedbackError, items, live } from "../../packages/client/src/index.ts";
import type { LiveChange } from "../../packages/client/src/live.ts";
import { scopes } from "../../shared/scopes.ts";
import { claimsOf, signed } from "../api/identified.ts";
import {
  longEnough,
  newComment,
  newKey,
  newOrganization,
  newSubmission,
  newUser,
  newUsers,
  only,
} from "../api/world.ts";
import { stack, supabase } from "../stack.ts";
import { until } from "../until.ts";

const url = stack.base_url;
const anonymous = createFeedbackClient({ url, retries: 0 });

const servers: Server[] = [];
afterEach(() => servers.splice(0).forEach((server) => void server.close()));

/** A server that gives these responses in turn, the last one again and again; `drop` closes the connection. */
async function serverOf(...answers: { status?: number; headers?: object; body?: string; drop?: boolean }[]) {
  const seen: { method?: string | undefined; key?: string | string[] | undefined; body: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    seen.push({ method: request.method, key: request.headers["idempotency-key"], body });
    const {
      status = 200,
      headers = {},
      body: text = "",
      drop,
    } = only(answers[Math.min(seen.length, answers.length) - 1]);
    if (drop) request.socket.destroy();
    else response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
  }).listen(0, "127.0.0.1");
  servers.push(server);
  await new Promise((listening) => server.once("listening", listening));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const fine = { body: '{"data":{"status":"ok"}}' };

test("the types are those of the served document", async () => {
  const served = await (await fetch(`${url}/api/openapi.json`)).text();
  expect(await clientTypesOf(served), "npm run client:types makes them anew").toBe(await readFile(clientTypes, "utf8"));
});

test("a call returns the data without its envelope, and the meta of a list", async () => {
  const organization = await newOrganization();
  const id = await newSubmission(organization, await newUser());
  const client = createFeedbackClient({ url, organization: organization.slug });
  const { data, meta, error } = await client.GET("/api/submissions", { params: { query: { limit: 5 } } });
  expect(error).toBeUndefined();
  expect(data?.map((submission) => submission.id)).toEqual([id]);
  expect(meta).toMatchObject({ page: 1, limit: 5, total: 1 });
  if (data) expectTypeOf(only(data[0]).vote_count).toBeNumber();

  // @ts-expect-error There is no such sort.
  await client.GET("/api/submissions", { params: { query: { sort: "colour" } } });
  // @ts-expect-error There is no such path.
  await client.GET("/api/ideas");
  // @ts-expect-error The path has a parameter.
  await client.GET("/api/submissions/{id}");
  // @ts-expect-error The path of a list has a parameter, too.
  items(client, "/api/submissions/{id}/comments");
});

test("a user submits, votes and deletes the vote", async () => {
  const organization = await newOrganization();
  const { token } = await newUser();
  const client = createFeedbackClient({ url, organization: organization.id, token: async () => token });
  const created = await client.POST("/api/submissions", {
    body: { type: "idea", title: "By the client package", description: longEnough },
  });
  const { id } = only(created.data);
  const params = { path: { id } };
  expect((await client.DELETE("/api/submissions/{id}/vote", { params })).data).toMatchObject({ vote_count: 0 });
  expect((await client.POST("/api/submissions/{id}/vote", { params })).data).toMatchObject({ vote_count: 1 });
});

test("an identified person takes part, is told of the answer, and signs out", async () => {
  const organization = await newOrganization();
  const owner = await newUser("The owner", { organization, role: "owner" });
  const team = createFeedbackClient({ url, organization: organization.id, token: owner.token });
  const secret = only((await team.POST("/api/admin/identify-secrets")).data).secret;
  const token = await signed(claimsOf(organization), secret);
  const session = only((await anonymous.POST("/api/identify", { body: { token } })).data);
  const client = createFeedbackClient({ url, token: () => session.access_token });

  const body = { type: "problem", title: "Loses my drafts", description: longEnough } as const;
  const { id } = only((await client.POST("/api/submissions", { body })).data);
  const params = { path: { id } };
  const comment = await client.POST("/api/submissions/{id}/comments", { params, body: { body: "Again today." } });
  expect(comment.data?.author?.id).toBe(session.profile.id);
  const status = await team.PATCH("/api/submissions/{id}/status", { params, body: { status: "planned" } });
  expect(status.error).toBeUndefined();
  const told: string[] = [];
  for await (const { type } of items(client, "/api/me/notifications")) told.push(type);
  expect(told).toEqual(["status_changed"]);

  expect((await client.POST("/api/identify/sign-out")).data).toEqual({ signed_out: true });
  expect((await client.GET("/api/me/votes")).error?.code).toBe("UNAUTHORIZED");
});

test("a submission created by a key has no envelope, and repeated requests create it once", async () => {
  const organization = await newOrganization();
  const { token } = await newKey(organization, scopes);
  const client = createFeedbackClient({ url, token });
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  const body = { type: "problem", title: "Sent twice by a key", description: longEnough } as const;
  const [first, second] = [
    await client.POST("/api/submissions", { body, headers }),
    await client.POST("/api/submissions", { body, headers }),
  ];
  expect(first.data).toMatchObject({ id: expect.any(String), url: expect.any(String) });
  expect(second.data).toEqual(first.data);
});

test("an export is text when asked for", async () => {
  const organization = await newOrganization();
  const { token } = await newKey(organization, scopes);
  await newSubmission(organization, await newUser(), { title: "In the export" });
  const client = createFeedbackClient({ url, token });
  const { data } = await client.GET("/api/admin/export", { parseAs: "text" });
  expectTypeOf(data).toEqualTypeOf<string | undefined>();
  expect(data).toContain("In the export");
});

test.each([
  ["an unknown row", "NOT_FOUND", 404],
  ["no session", "UNAUTHORIZED", 401],
  ["an invalid field", "VALIDATION_ERROR", 400],
] as const)("%s is an error value", async (what, code, status) => {
  const { error, data } =
    what === "an unknown row"
      ? await anonymous.GET("/api/submissions/{id}", { params: { path: { id: crypto.randomUUID() } } })
      : what === "no session"
        ? await anonymous.GET("/api/me/votes")
        : await anonymous.GET("/api/submissions", { params: { query: { limit: 1000 } } });
  expect(data).toBeUndefined();
  expect(error).toBeInstanceOf(FeedbackError);
  expect(error).toMatchObject({ code, status, requestId: expect.any(String) });
  expect(error?.details.map(({ field }) => field)).toEqual(code === "VALIDATION_ERROR" ? ["limit"] : []);
});

test("the lowercase form of keys is the same error", async () => {
  const { token } = await newKey(await newOrganization(), scopes);
  const { error } = await createFeedbackClient({ url, token }).POST("/api/submissions", {
    body: { type: "idea", title: "No", description: longEnough },
  });
  expect(error).toMatchObject({ code: "VALIDATION_ERROR", status: 400 });
  expect(error?.details.map(({ field }) => field)).toEqual(["title"]);
  expect(error?.message).toContain("title");
});

test("a merged submission names its target", async () => {
  const [source, target] = [crypto.randomUUID(), crypto.randomUUID()];
  const error = { code: "SUBMISSION_MERGED", message: "It was merged.", details: [], merged_into_id: target };
  const server = await serverOf({ status: 409, body: JSON.stringify({ error }) });
  const client = createFeedbackClient({ url: server.url });
  const params = { path: { id: source } };
  expect((await client.POST("/api/submissions/{id}/vote", { params })).error?.mergedIntoId).toBe(target);
});

test("no server, a page of a proxy and text that is no JSON are error values", async () => {
  const gone = await serverOf({ drop: true });
  const proxy = await serverOf({ status: 418, headers: { "content-type": "text/html" }, body: "<p>No</p>" });
  const garbled = await serverOf({ body: "{" });
  const codes = await Promise.all(
    [gone, proxy, garbled].map(
      async (server) => (await createFeedbackClient({ url: server.url, retries: 0 }).GET("/api/health")).error?.code,
    ),
  );
  expect(codes).toEqual(["NETWORK_ERROR", "UNEXPECTED_RESPONSE", "UNEXPECTED_RESPONSE"]);
});

const vote = (client: ReturnType<typeof createFeedbackClient>) =>
  client.POST("/api/submissions/{id}/vote", { params: { path: { id: crypto.randomUUID() } } });
const soon = { "retry-after": "0" };

test("a rate limit is waited for, also with a write", async () => {
  const server = await serverOf({ status: 429, headers: soon }, fine);
  const { error } = await vote(createFeedbackClient({ url: server.url, token: "person" }));
  expect(error).toBeUndefined();
  expect(server.seen).toHaveLength(2);
});

test("a long wait is the caller's decision", async () => {
  const server = await serverOf({ status: 429, headers: { "retry-after": "3600" } });
  const { error } = await createFeedbackClient({ url: server.url }).GET("/api/health");
  expect(error?.retryAfter).toBe(3600);
  expect(server.seen).toHaveLength(1);
});

test("a write that may have had its effect is repeated only under an Idempotency-Key", async () => {
  const lost = await serverOf({ drop: true }, fine);
  expect((await vote(createFeedbackClient({ url: lost.url, token: "person" }))).error?.code).toBe("NETWORK_ERROR");
  expect(lost.seen).toHaveLength(1);

  const found = await serverOf({ status: 503, headers: soon }, fine);
  expect((await vote(createFeedbackClient({ url: found.url, token: "fcs_org_key" }))).error).toBeUndefined();
  expect(found.seen).toHaveLength(2);
  expect(found.seen[0]?.key).toMatch(/^[0-9a-f-]{36}$/);
  expect(found.seen[1]).toEqual(found.seen[0]);
});

test("a read is repeated as often as asked, and a write keeps its body", async () => {
  const down = await serverOf({ status: 503, headers: soon });
  const { error } = await createFeedbackClient({ url: down.url, retries: 3 }).GET("/api/health");
  expect(error?.status).toBe(503);
  expect(down.seen).toHaveLength(4);

  const busy = await serverOf({ status: 429, headers: soon }, fine);
  const body = { type: "idea", title: "Sent twice", description: longEnough } as const;
  await createFeedbackClient({ url: busy.url }).POST("/api/submissions", { body });
  expect(busy.seen.map((request) => JSON.parse(request.body))).toEqual([body, body]);
});

test("an aborted call rejects, also while it waits", async () => {
  const server = await serverOf({ status: 429, headers: { "retry-after": "15" } });
  const controller = new AbortController();
  const call = createFeedbackClient({ url: server.url }).GET("/api/health", { signal: controller.signal });
  await until(() => server.seen.length === 1);
  controller.abort();
  await expect(call).rejects.toThrow(/abort/i);
});

test("items reads every page of a list with cursors, with pages and without either", async () => {
  const organization = await newOrganization();
  const people = await newUsers(7);
  const ids: string[] = [];
  for (const author of people) ids.push(await newSubmission(organization, author, { title: "A page of it" }));
  const client = createFeedbackClient({ url, organization: organization.slug });
  const all: string[] = [];
  for await (const { id } of items(client, "/api/submissions", { params: { query: { limit: 3 } } })) all.push(id);
  expect(all.toSorted()).toEqual(ids.toSorted());

  const found: string[] = [];
  const query = { q: "page", limit: 2 };
  for await (const { id } of items(client, "/api/submissions/search", { params: { query } })) found.push(id);
  expect(found.toSorted()).toEqual(ids.toSorted());

  const id = only(ids[0]);
  for (const author of people) await newComment(id, author);
  const comments = items(client, "/api/submissions/{id}/comments", { params: { path: { id }, query: { limit: 3 } } });
  let count = 0;
  for await (const comment of comments) count += comment.id ? 1 : 0;
  expect(count).toBe(7);
});

test("items throws the error of a page", async () => {
  const list = items(anonymous, "/api/me/votes");
  await expect(list.next()).rejects.toMatchObject({ name: "FeedbackError", code: "UNAUTHORIZED" });
});

test("live tells of votes as they are made", async () => {
  const organization = await newOrganization();
  const [author, voter] = await newUsers(2);
  const id = await newSubmission(organization, only(author));
  const changes: LiveChange[] = [];
  const subscription = live(supabase(), id, (change) => changes.push(change));
  await subscription.ready;
  const client = createFeedbackClient({ url, token: only(voter).token });
  await client.POST("/api/submissions/{id}/vote", { params: { path: { id } } });
  await until(() => changes.length > 0);
  expect(changes[0]).toMatchObject({ event: "INSERT", table: "votes", submission: { id, vote_count: 2 } });
  await subscription.stop();
});

test("live that is stopped at once joins nothing", async () => {
  const client = supabase();
  const subscription = live(client, crypto.randomUUID(), () => {});
  await subscription.stop();
  await expect(subscription.ready).rejects.toThrow("left before");
  expect(client.getChannels()).toEqual([]);
});

test("live rejects for a submission that is not visible", async () => {
  const organization = await newOrganization({ visibility: "private" });
  const id = await newSubmission(organization, await newUser());
  const subscription = live(supabase(), id, () => {});
  await expect(subscription.ready).rejects.toThrow();
  await subscription.stop();
});

test("a program that makes one call takes at most 8 KB, and no more than it uses", async () => {
  const sizeOf = async (program: string) => {
    const { outputFiles } = await build({
      stdin: { contents: program, resolveDir: `${root}/packages/client/src`, loader: "ts" },
      bundle: true,
      format: "esm",
      minify: true,
      platform: "browser",
      write: false,
    });
    return gzipSync(only(outputFiles[0]).contents).length;
  };
  const one = await sizeOf(`import { createFeedbackClient } from "./index.ts";
    console.log(await createFeedbackClient({ url: "https://feedback.example.org" }).GET("/api/submissions"));`);
  expect(one).toBeLessThanOrEqual(8 * 1000);
  const signature = await sizeOf(`export { verifyWebhook } from "./index.ts";`);
  expect(signature).toBeLessThanOrEqual(1500);
});
