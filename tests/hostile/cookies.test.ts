import { randomUUID } from "node:crypto";
import { Agent } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { claimsOf, identified, newSecret, signed } from "../api/identified.ts";
import { newOrganization, newUser } from "../api/world.ts";
import { send } from "../http.ts";
import { type OwnStack, startOwnStack } from "../own-stack.ts";
import { sql, stack } from "../stack.ts";
import { newVisitor, signedIn } from "../web/pages.ts";

// A page of any host below the same domain can set cookies for the whole domain (`domain=example.org`). The browser
// then sends two cookies of the same name, in an order that the attacker chooses by their paths.

const agent = new Agent({ keepAlive: true });
const name = "sb-127-auth-token";
const pageOf = (cookie: string, path = "/realtime-token", base = stack.site_url) =>
  send("GET", base + path, { agent, headers: { cookie } });
const votesOf = (cookie: string, base = stack.base_url) =>
  send("GET", `${base}/api/me/votes`, { agent, headers: { cookie } });
const halved = (value: string) => [value.slice(0, 500), value.slice(500)];

describe("over http, where no name of a cookie is ours alone, two writers of a session are nobody", () => {
  const sessionOf = async () => (await signedIn()).cookie(name) ?? "";

  test.each<[string, (own: string, foreign: string) => string]>([
    ["two of one name", (own, foreign) => `${name}=${own}; ${name}=${foreign}`],
    ["in the other order", (own, foreign) => `${name}=${foreign}; ${name}=${own}`],
    ["one whole, one in chunks", (own, foreign) => `${name}=${own}; ${chunks(foreign)}`],
    ["both in chunks", (own, foreign) => `${chunks(foreign)}; ${chunks(own)}`],
    ["one with a space that browsers do not cut off", (own, foreign) => `\u00a0${name}=${foreign}; ${name}=${own}x`],
  ])("%s", async (_what, cookies) => {
    const header = cookies(await sessionOf(), await sessionOf());
    const page = await pageOf(header);
    expect(page.text).toBe('{"token":null}');
    const settings = await pageOf(header, "/settings");
    expect(settings.headers.location).toMatch(/^\/sign-in/);
    expect((await votesOf(header)).status).toBe(401);
  });

  test("and keep their cookies: without ours the other one would be alone", async () => {
    const page = await pageOf(`${name}=${await sessionOf()}; ${name}=${await sessionOf()}`);
    expect(page.headers["set-cookie"]).toBeUndefined();
  });

  test("also of identified people, and in the widget", async () => {
    const organization = await newOrganization();
    const owner = await newUser("The owner", { organization, role: "owner" });
    const { secret } = await newSecret(organization, owner);
    const [own, foreign] = [await identified(organization, secret), await identified(organization, secret)];
    await sql`update public.organizations set allowed_origins = '{https://app.example.org}' where id = ${organization.id}`;
    const base = `/o/${organization.slug}`;
    const isNamed = async (cookie: string, path: string) =>
      /data-viewer="|menu-name/.test((await pageOf(cookie, path)).text);
    expect(await isNamed(`feedback-session=${own.token}`, base)).toBe(true);
    expect(await isNamed(`feedback-session=${own.token}; feedback-session=${foreign.token}`, base)).toBe(false);
    expect((await votesOf(`feedback-session=${own.token}; feedback-session=${foreign.token}`)).status).toBe(401);
    expect(await isNamed(`feedback-widget=${own.token}`, `/embed${base}/news`)).toBe(true);
    expect(await isNamed(`feedback-widget=${own.token}; feedback-widget=${foreign.token}`, `/embed${base}/news`)).toBe(
      false,
    );
  });

  const chunks = (value: string) =>
    halved(value)
      .map((part, index) => `${name}.${index}=${part}`)
      .join("; ");
});

test("a session in more chunks than a browser sends is nobody, and only so many cookies are taken back", async () => {
  const chunks = Array.from({ length: 1900 }, (_, index) => `${name}.${index}=aaaaaaaa`).join("; ");
  const page = await pageOf(chunks, "/sign-in");
  expect(page.status).toBe(200);
  expect(page.headers["set-cookie"]).toHaveLength(20);
  expect((await votesOf(chunks)).status).toBe(401);
  const value = (await signedIn()).cookie(name) ?? "";
  const inChunks = (count: number) => {
    const length = Math.ceil(value.length / count);
    const part = (index: number) => value.slice(index * length, (index + 1) * length);
    return Array.from({ length: count }, (_, index) => `${name}.${index}=${part(index)}`).join("; ");
  };
  expect((await votesOf(inChunks(20))).status).toBe(200);
  expect((await votesOf(inChunks(30))).status).toBe(401);
});

describe("over https", () => {
  let own: OwnStack;
  const secure = `__Host-${name}`;

  beforeAll(async () => {
    own = await startOwnStack({
      parts: ["auth", "web"],
      functionsEnvironment: { SITE_URL: "https://feedback.example.org" },
    });
  });
  afterAll(() => own?.remove());

  const signedUp = async () => {
    const visitor = newVisitor([], own.site_url);
    const fields = { name: "Wanda", email: `${randomUUID()}@web.example`, password: "correct horse battery" };
    const answer = await visitor.post("/sign-up", fields);
    return { visitor, lines: [answer.headers["set-cookie"] ?? []].flat(), value: visitor.cookie(secure) ?? "" };
  };

  test("browsers let no other host set a cookie of ours", async () => {
    const { lines, visitor, value } = await signedUp();
    expect(value).not.toBe("");
    for (const line of lines) expect(line).toMatch(/^__Host-.*; Path=\/;.*HttpOnly; Secure/);
    expect((await visitor.get("/realtime-token")).text).not.toBe('{"token":null}');
    const asked = await visitor.post("/reset", { email: `${randomUUID()}@web.example` });
    expect([asked.headers["set-cookie"]].flat().at(-1)).toMatch(/^__Host-address=/);
  });

  test("pages take no session under another name, alone or beside ours, in any disguise", async () => {
    const [mine, foreign] = [await signedUp(), await signedUp()];
    const tokenOn = async (cookie: string) =>
      JSON.parse((await pageOf(cookie, "/realtime-token", own.site_url)).text).token;
    const expected = await tokenOn(`${secure}=${mine.value}`);
    expect(expected).not.toBeNull();
    for (const disguise of [name, ` ${name}`, `\u00a0${secure}`, secure.toUpperCase(), `${name}.0`]) {
      expect(await tokenOn(`${disguise}=${foreign.value}`), disguise).toBeNull();
      expect(await tokenOn(`${disguise}=${foreign.value}; ${secure}=${mine.value}`), disguise).toBe(expected);
    }
  });

  test("the API takes the session of the pages or of an application on its host, and of both neither", async () => {
    const { value, visitor } = await signedUp();
    expect((await votesOf(`${secure}=${value}`, own.base_url)).status).toBe(200);
    expect((await votesOf(`${name}=${value}`, own.base_url)).status).toBe(200);
    expect((await votesOf(`${name}=${value}; ${secure}=${value}`, own.base_url)).status).toBe(401);
    // The next page deletes a session cookie with the default name, which the pages used in earlier versions.
    const page = await pageOf(`${name}=${value}; ${secure}=${visitor.cookie(secure)}`, "/", own.site_url);
    expect(page.headers["set-cookie"]).toEqual([expect.stringMatching(new RegExp(`^${name}=; Max-Age=0; Path=/`))]);
  });

  test("and identified people have such a cookie too", async () => {
    const admin = await own.person("owner");
    const made = await own.call("POST", "/api/admin/identify-secrets", { token: admin.token, body: {} });
    const claims = claimsOf({ ...own.organization } as Parameters<typeof claimsOf>[0], { jti: randomUUID() });
    const token = await signed(claims, String(made.body.data?.secret));
    const visitor = newVisitor([], own.site_url);
    const done = await visitor.post(`/o/${own.organization.slug}/sso`, { token });
    expect([done.headers["set-cookie"]].flat()[0]).toMatch(
      /^__Host-feedback-session=fcs_usr_.*; Path=\/; HttpOnly; Secure/,
    );
    const mine = `__Host-feedback-session=${visitor.cookie("__Host-feedback-session")}`;
    expect((await votesOf(mine, own.base_url)).status).toBe(200);
    const foreign = (await signedUp()).value;
    for (const plain of [`${name}=${foreign}`, `${name}.0=${foreign}`, `${name}=`])
      for (const both of [`${mine}; ${plain}`, `${plain}; ${mine}`])
        expect((await votesOf(both, own.base_url)).status, both.slice(0, 40)).toBe(401);
    expect((await votesOf(`${mine}; ${secure}=${foreign}`, own.base_url)).status).toBe(200);
    const framed = await visitor.post(`/embed/o/${own.organization.slug}/identify`, {
      token: await signed({ ...claims, jti: randomUUID() }, String(made.body.data?.secret)),
    });
    expect([framed.headers["set-cookie"]].flat()[0]).toMatch(
      /^__Host-feedback-widget=fcs_usr_.*; Path=\/; HttpOnly; Secure/,
    );
  });
});
