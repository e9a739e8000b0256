import { createHash, randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tokenIssuer } from "../../local/lite/auth-config.ts";
import { newOrganization, newSubmission } from "../api/world.ts";
import { type OwnFunctions, startOwnFunctions } from "../mcp/own-functions.ts";
import { accessToken, sql, stack } from "../stack.ts";
import { newVisitor, signedIn, type Visitor } from "../web/pages.ts";

// Sessions and typed text survive errors and attacks.

const sessionCookie = "sb-127-auth-token";

type Session = { access_token: string; refresh_token: string };

/** The cookie contains only tokens, so the user comes from the access token. */
const userOf = ({ access_token }: Session) => decodeJwt(access_token).sub;

const sessionOf = (visitor: Visitor): Session =>
  JSON.parse(Buffer.from((visitor.cookie(sessionCookie) ?? "").slice("base64-".length), "base64url").toString());

/** Another browser with a session. */
const browserWith = (session: object, base = stack.site_url) =>
  newVisitor(
    [{ name: sessionCookie, value: `base64-${Buffer.from(JSON.stringify(session)).toString("base64url")}` }],
    base,
  );

async function expiredSessionOf(visitor: Visitor) {
  const session = sessionOf(visitor);
  const access_token = await accessToken({ sub: userOf(session) }, -10);
  return { ...session, access_token, expires_at: 1, expires_in: 0 };
}

const isSignedIn = async (visitor: Visitor) => {
  const { status, html } = await visitor.get("/");
  expect(status).toBe(200);
  return html.querySelector(".menu-name") !== null;
};

test("a form that asks for a sign-in stores nothing of its input", async () => {
  const id = await newSubmission(await newOrganization(), { id: (await signedIn()).userId });
  const fields = { password: randomUUID(), code: "123456", title: "Typed before", body: "Typed before" };
  const forms = [
    "/reset/password",
    "/settings",
    "/settings/erase",
    "/new",
    `/submissions/${id}/comments`,
    `/surveys/${randomUUID()}`,
  ];
  for (const path of forms) {
    const page = path.replace(/\/comments$/, "");
    const { status, location, headers } = await newVisitor().post(path, { ...fields, return_to: page });
    expect([path, status, location]).toEqual([path, 303, `/sign-in?return_to=${encodeURIComponent(page)}`]);
    expect([path, headers["set-cookie"]]).toEqual([path, undefined]);
  }
});

describe("the other browsers of an account", () => {
  test("that was erased show the pages to nobody, and forget the session", async () => {
    const visitor = await signedIn();
    const id = await newSubmission(await newOrganization(), { id: visitor.userId });
    const others = Array.from({ length: 4 }, () => browserWith(sessionOf(visitor)));
    const [board, personal, form, token] = others as [Visitor, Visitor, Visitor, Visitor];
    expect((await visitor.post("/settings/erase", { confirm: "erase" })).location).toBe("/goodbye");

    expect(await isSignedIn(board)).toBe(false);
    const led = await personal.get("/me");
    expect([led.status, led.location]).toEqual([303, "/sign-in?return_to=%2Fme"]);
    expect((await personal.get(led.location ?? "")).status).toBe(200);
    const voted = await form.post(`/submissions/${id}/vote`, { return_to: `/submissions/${id}` });
    expect([voted.status, voted.location]).toEqual([
      303,
      `/sign-in?return_to=${encodeURIComponent(`/submissions/${id}`)}`,
    ]);
    await token.get("/realtime-token");
    for (const browser of others) expect(browser.cookie(sessionCookie)).toBeUndefined();
  });

  test("that was signed out everywhere do so when their token ends", async () => {
    const visitor = await signedIn();
    const expired = await expiredSessionOf(visitor);
    await sql`delete from auth.sessions where user_id = ${visitor.userId}`;
    for (const path of ["/", "/sign-in", "/roadmap"]) {
      const other = browserWith(expired);
      const { status, html } = await other.get(path);
      expect([path, status, html.querySelector(".menu-name")]).toEqual([path, 200, null]);
      expect(other.cookie(sessionCookie)).toBeUndefined();
    }
  });
});

describe("auth that answers otherwise", () => {
  let auth: Server;
  let functions: OwnFunctions;
  let base: string;
  let answerRefresh: () => { status: number; body: unknown };
  let refreshes = 0;
  const exchanged: { auth_code?: string; code_verifier?: string }[] = [];
  /** The codes that a provider's sign-in has issued, each with its challenge and its user. */
  const codes = new Map<string, { challenge: string; userId: string }>();

  const sessionFor = async (userId: string) => ({
    access_token: await accessToken({ sub: userId }),
    token_type: "bearer",
    expires_in: 3600,
    expires_at: Math.floor(Date.now() / 1000) + 3600,
    refresh_token: randomUUID(),
    user: { id: userId, aud: "authenticated", app_metadata: {}, user_metadata: {}, created_at: "" },
  });

  /** Exchanges a code only with the verifier of its challenge, like GoTrue. */
  async function answerExchange({ auth_code = "", code_verifier = "" }: (typeof exchanged)[number]) {
    const code = codes.get(auth_code);
    const challenge = createHash("sha256").update(code_verifier).digest("base64url");
    if (code?.challenge !== challenge)
      return { status: 400, body: { error_code: "bad_code_verifier", msg: "code challenge does not match" } };
    codes.delete(auth_code);
    return { status: 200, body: await sessionFor(code.userId) };
  }

  beforeAll(async () => {
    auth = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const { pathname, search, searchParams } = new URL(request.url ?? "", "http://auth");
      // Auth sends the visitor on to the provider.
      if (pathname === "/auth/v1/authorize")
        return void response.writeHead(302, { location: `https://github.example/${search}` }).end();
      let answer: { status: number; body: unknown } = { status: 404, body: {} };
      if (searchParams.get("grant_type") === "refresh_token") {
        refreshes++;
        answer = answerRefresh();
      } else if (searchParams.get("grant_type") === "pkce") {
        const body = JSON.parse(Buffer.concat(chunks).toString());
        exchanged.push(body);
        answer = await answerExchange(body);
      }
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body));
    });
    await new Promise<void>((resolve) => auth.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(auth.address() as { port: number }).port}`;
    functions = await startOwnFunctions(
      {
        SUPABASE_URL: url,
        SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: stack.publishable_key }),
        JWT_SECRET: stack.jwtSecret,
        JWT_ISSUERS: tokenIssuer,
        SIGN_IN_PROVIDERS: "github",
      },
      { name: "web", healthPath: "/health" },
    );
    base = `http://127.0.0.1:${functions.port}`;
  });
  afterAll(async () => {
    await functions?.stop();
    auth?.closeAllConnections();
    auth?.close();
  });

  test.each([
    [429, 429, { code: 429, error_code: "over_request_rate_limit", msg: "Try again in 42 seconds." }],
    [503, 503, { msg: "away" }],
    [403, 503, "<html>A proxy says no</html>"],
  ])(
    "a refresh that is answered with %i ends no session, and is told on a page of theirs",
    async (status, told, body) => {
      answerRefresh = () => ({ status, body });
      const visitor = await signedIn();
      const held = browserWith(await expiredSessionOf(visitor), base);
      const before = held.cookie(sessionCookie);
      const id = await newSubmission(await newOrganization(), { id: visitor.userId });
      expect(await isSignedIn(held)).toBe(false);
      for (const answer of [await held.get("/me"), await held.post(`/submissions/${id}/vote`)]) {
        expect([answer.status, answer.location]).toEqual([told, undefined]);
        expect(answer.headers["retry-after"]).toBe(told === 429 ? "42" : "1");
      }
      expect(held.cookie(sessionCookie)).toBe(before);
      const session = await sessionFor(visitor.userId);
      answerRefresh = () => ({ status: 200, body: session });
      expect((await held.get("/me")).status).toBe(200);
      expect(sessionOf(held).refresh_token).toBe(session.refresh_token);
    },
  );

  test("a refresh that is refused for good ends the session at once, for tabs asked for together too", async () => {
    answerRefresh = () => ({ status: 400, body: { error_code: "refresh_token_not_found", msg: "Not found" } });
    const expired = await expiredSessionOf(await signedIn());
    const tabs = Array.from({ length: 6 }, () => browserWith(expired, base));
    expect(await Promise.all(tabs.map(isSignedIn))).toEqual(tabs.map(() => false));
    for (const tab of tabs) expect(tab.cookie(sessionCookie)).toBeUndefined();
    const asked = refreshes;
    await tabs[0]?.get("/");
    expect(refreshes).toBe(asked);
  });

  const startAtProvider = async (visitor: Visitor) => {
    const { location = "" } = await visitor.get("/sign-in/github?return_to=/me");
    return new URL(location).searchParams.get("code_challenge") ?? "";
  };

  test("a code of a provider signs in the browser that asked for it, and no other", async () => {
    const attacker = newVisitor([], base);
    const { userId } = await signedIn();
    const challenge = await startAtProvider(attacker);
    codes.set("planted", { challenge, userId });

    const stranger = newVisitor([], base);
    const asking = newVisitor([], base);
    expect(await startAtProvider(asking)).not.toBe(challenge);
    const person = await signedIn();
    const member = browserWith(sessionOf(person), base);
    const emptied = newVisitor([{ name: `${sessionCookie}-code-verifier`, value: "" }], base);
    for (const victim of [stranger, asking, member, emptied])
      for (const more of ["", "&code_verifier=x", "&return_to=/me", "#access_token=x"])
        expect((await victim.get(`/auth/callback?code=planted${more}`)).status).toBe(409);
    for (const victim of [stranger, asking, emptied]) expect(victim.cookie(sessionCookie) ?? "").toBe("");
    expect(userOf(sessionOf(member))).toBe(person.userId);
    // Codes are exchanged only for visitors who have a verifier of their own.
    expect(exchanged).toHaveLength(4);
    for (const { code_verifier } of exchanged) expect(code_verifier).toMatch(/^.{43,}$/);

    const done = await attacker.get("/auth/callback?code=planted&return_to=/me");
    expect([done.status, done.location]).toEqual([303, "/me"]);
    expect(userOf(sessionOf(attacker))).toBe(userId);
    expect((await attacker.get("/auth/callback?code=planted")).status).toBe(409);
  });
});
