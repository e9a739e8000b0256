import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { tokenIssuer } from "../../local/lite/auth-config.ts";
import { newOrganization, newSubmission } from "../api/world.ts";
import { type OwnFunctions, startOwnFunctions } from "../mcp/own-functions.ts";
import { accessToken, sql, stack } from "../stack.ts";
import { newVisitor, signedIn, type Visitor } from "./pages.ts";

// The pages with an auth that has second factors. It is a stand-in with recorded answers of Supabase Auth 2.196,
// because the embedded auth offers no factors.

type Factor = { id: string; friendly_name: string; factor_type: string; status: string };
type Answer = { status: number; body: object };

const sessionCookie = "sb-127-auth-token";
const right = "123456";
const secret = "CWBFM57X5VQGD7VRIBJFJW7UFB55DJ3B";
const refused = (status: number, error_code: string, msg: string): Answer => ({
  status,
  body: { code: status, error_code, msg },
});
const wrongCode = refused(422, "mfa_verification_failed", "Invalid TOTP code entered");

let auth: Server;
let functions: OwnFunctions;
let person: { userId: string; session_id?: string };
let factors: Factor[];
/** Answers that replace the usual ones, by method and path without ids. */
let instead: Record<string, Answer>;
let calls: string[];
/** The authenticator app that shows the right code. */
let appOf: string | undefined;

const userOf = () => ({
  id: person.userId,
  aud: "authenticated",
  role: "authenticated",
  email: "mia@example.org",
  app_metadata: {},
  user_metadata: {},
  factors,
  created_at: "2026-11-26T04:28:41.674809Z",
});

const sessionAt = async (aal: "aal1" | "aal2") => ({
  access_token: await accessToken({
    sub: person.userId,
    aal,
    ...(person.session_id && { session_id: person.session_id }),
  }),
  token_type: "bearer",
  expires_in: 3600,
  expires_at: Math.floor(Date.now() / 1000) + 3600,
  refresh_token: randomUUID(),
  user: userOf(),
});

async function answer(method: string, path: string, body: Record<string, string>): Promise<Answer> {
  const id = /[0-9a-f-]{36}/.exec(path)?.[0];
  const named = `${method} ${path.replace(id ?? "-", ":id")}`;
  calls.push(named);
  if (instead[named]) return instead[named];
  const found = factors.find((factor) => factor.id === id);
  switch (named) {
    case "POST /token":
      return { status: 200, body: await sessionAt("aal1") };
    case "GET /user":
      return { status: 200, body: userOf() };
    case "POST /factors": {
      if (factors.some(({ friendly_name }) => friendly_name === body.friendly_name))
        return refused(422, "mfa_factor_name_conflict", "A factor with the friendly name exists");
      const made = {
        id: randomUUID(),
        friendly_name: body.friendly_name ?? "",
        factor_type: "totp",
        status: "unverified",
      };
      factors.push(made);
      const uri = `otpauth://totp/127.0.0.1:mia@example.org?algorithm=SHA1&digits=6&issuer=127.0.0.1&period=30&secret=${secret}`;
      return {
        status: 200,
        body: {
          id: made.id,
          type: "totp",
          friendly_name: made.friendly_name,
          totp: { qr_code: "<svg/>", secret, uri },
        },
      };
    }
    case "POST /factors/:id/challenge":
      return { status: 200, body: { id: randomUUID(), type: "totp", expires_at: 1795667623 } };
    case "POST /factors/:id/verify": {
      if (!found || body.code !== right || (appOf ?? id) !== id) return wrongCode;
      if (found.status === "unverified") {
        found.status = "verified";
        await keep(found);
      }
      return { status: 200, body: await sessionAt("aal2") };
    }
    case "DELETE /factors/:id":
      if (!found) return refused(404, "mfa_factor_not_found", "Factor not found");
      factors = factors.filter((factor) => factor !== found);
      await sql`delete from auth.mfa_factors where id = ${found.id}`;
      return { status: 200, body: { id: found.id } };
    case "POST /logout":
      return { status: 204, body: {} };
  }
  throw new Error(`The stand-in has no answer to ${named}.`);
}

/** Stores the factor as auth does: in the table that the database's rule reads. */
const keep = ({ id, friendly_name, factor_type, status }: Factor) => sql`
  insert into auth.mfa_factors (id, user_id, friendly_name, factor_type, status, created_at, updated_at)
  values (${id}, ${person.userId}, ${friendly_name}, ${factor_type}, ${status}, now(), now())`;

async function withFactor(more: Partial<Factor> = {}): Promise<Factor> {
  const made = { id: randomUUID(), friendly_name: randomUUID(), factor_type: "totp", status: "verified", ...more };
  factors.push(made);
  if (made.status === "verified") await keep(made);
  return made;
}

beforeAll(async () => {
  auth = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { pathname } = new URL(request.url ?? "", "http://auth");
    const given = await answer(
      request.method ?? "",
      pathname.replace("/auth/v1", ""),
      JSON.parse(Buffer.concat(chunks).toString() || "{}"),
    );
    response.writeHead(given.status, { "content-type": "application/json" });
    response.end(given.status === 204 ? undefined : JSON.stringify(given.body));
  });
  await new Promise<void>((resolve) => auth.listen(0, "127.0.0.1", resolve));
  functions = await startOwnFunctions(
    {
      SUPABASE_URL: `http://127.0.0.1:${(auth.address() as { port: number }).port}`,
      SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: stack.publishable_key }),
      JWT_SECRET: stack.jwtSecret,
      JWT_ISSUERS: tokenIssuer,
    },
    { name: "web", healthPath: "/health" },
  );
});
afterAll(async () => {
  await functions?.stop();
  auth?.closeAllConnections();
  auth?.close();
});

beforeEach(async () => {
  const visitor = await signedIn();
  const held = JSON.parse(
    Buffer.from((visitor.cookie(sessionCookie) ?? "").slice("base64-".length), "base64url").toString(),
  );
  const { session_id } = JSON.parse(Buffer.from(held.access_token.split(".")[1] ?? "", "base64url").toString());
  person = { userId: visitor.userId, session_id };
  [factors, instead, calls, appOf] = [[], {}, [], undefined];
});

/** A visitor who has entered the password and still needs a second factor. */
async function afterPassword(): Promise<Visitor> {
  const visitor = newVisitor([], `http://127.0.0.1:${functions.port}`);
  const { location } = await visitor.post("/sign-in", {
    email: "mia@example.org",
    password: "correct horse",
    return_to: "/me",
  });
  expect(location).toBe("/me");
  return visitor;
}
const enter = (visitor: Visitor, code: string) => visitor.post("/sign-in/factor", { code, return_to: "/me" });
const problemOf = ({ html }: { html: { querySelector(query: string): { text: string } | null } }) =>
  html.querySelector("[role=alert]")?.text ?? "";

describe("after the password of an account with a second factor", () => {
  test.each(["/", "/me", "/settings", "/nowhere", "/admin", "/reset/password", "/sign-up"])(
    "%s leads to the page that asks for the code, and keeps the session",
    async (path) => {
      await withFactor();
      const visitor = await afterPassword();
      const before = visitor.cookie(sessionCookie);
      const { status, location } = await visitor.get(`${path}?x=1`);
      expect([status, location]).toEqual([303, `/sign-in/factor?return_to=${encodeURIComponent(`${path}?x=1`)}`]);
      expect(visitor.cookie(sessionCookie)).toBe(before);
      expect((await visitor.get(location ?? "")).status).toBe(200);
    },
  );

  test("a form does nothing, data is a 401, and what needs no account works", async () => {
    await withFactor();
    const visitor = await afterPassword();
    const organization = await newOrganization();
    const id = await newSubmission(organization, { id: person.userId });
    const voted = await visitor.post(`/submissions/${id}/vote`);
    expect([voted.status, voted.location?.slice(0, 26)]).toEqual([303, "/sign-in/factor?return_to="]);
    const changed = await visitor.post("/reset/password", { password: "another horse", return_to: "/" });
    expect(changed.location).toBe("/sign-in/factor?return_to=%2F");
    expect(calls).not.toContain("PUT /user");
    for (const path of ["/realtime-token", "/settings/data.json"])
      expect((await visitor.get(path)).status, path).toBe(401);
    for (const path of ["/robots.txt", `/o/${organization.slug}/feed.xml`])
      expect((await visitor.get(path)).status, path).toBe(200);
    const framed = await visitor.get(`/embed/o/${organization.slug}`);
    expect([framed.status, framed.text.includes(id)]).toEqual([200, true]);
    expect((await visitor.post("/preferences", { lang: "de", return_to: "/sign-in/factor" })).location).toBe(
      "/sign-in/factor",
    );
    expect((await visitor.get("/sign-in/factor")).html.querySelector("h1")?.text).toBe("Anmeldung bestätigen");
  });

  test("accepts the code of any of the person's apps, with spaces or full-width digits", async () => {
    await withFactor();
    appOf = (await withFactor()).id;
    const visitor = await afterPassword();
    const wrong = await enter(visitor, "000000");
    expect([wrong.status, problemOf(wrong)]).toEqual([422, expect.stringContaining("wrong or has expired")]);
    expect((await visitor.get("/me")).status).toBe(303);
    const passed = await enter(visitor, " １２３ ４５６ ");
    expect([passed.status, passed.location]).toEqual([303, "/me"]);
    expect((await visitor.get("/me")).status).toBe(200);
    expect((await visitor.get("/settings/factor")).html.querySelectorAll("main h2")).toHaveLength(3);
  });

  test("a code leads to no other site", async () => {
    await withFactor();
    const visitor = await afterPassword();
    const { location } = await visitor.post("/sign-in/factor", { code: right, return_to: "//evil.example" });
    expect(location).toBe("/");
  });

  test("shows a message for too many codes, an unavailable auth and an unsupported factor", async () => {
    await withFactor();
    const visitor = await afterPassword();
    instead["POST /factors/:id/verify"] = refused(429, "over_request_rate_limit", "Request rate limit");
    const often = await enter(visitor, right);
    expect([often.status, problemOf(often)]).toEqual([429, expect.stringContaining("Too many attempts")]);
    instead = { "GET /user": refused(500, "unexpected_failure", "away") };
    expect(problemOf(await enter(visitor, right))).toContain("temporarily unavailable");
    instead = {};
    factors = [];
    await sql`delete from auth.mfa_factors where user_id = ${person.userId}`;
    await withFactor({ factor_type: "phone" });
    expect(problemOf(await enter(visitor, right))).toContain("doesn’t support your kind");
  });

  test("the visitor can sign out, and a visitor without a session is led to sign in", async () => {
    await withFactor();
    const visitor = await afterPassword();
    const page = (await visitor.get("/sign-in/factor")).html;
    const out = await visitor.submit(page.querySelector('form[action="/sign-out"]'));
    expect(out.location).toBe("/");
    expect(visitor.cookie(sessionCookie)).toBeUndefined();
    expect((await visitor.get("/")).location).toBeUndefined();
    expect((await enter(visitor, right)).location).toBe("/sign-in?return_to=%2Fme");
  });
});

describe("in the settings", () => {
  const add = async (visitor: Visitor, name = "Phone") =>
    visitor.submit((await visitor.get("/settings/factor")).html.querySelector("main form:has(#name)"), { name });

  test("a factor is added with its key and first code, listed and removed", async () => {
    const left = await withFactor({ status: "unverified" });
    const visitor = await afterPassword();
    const shown = await add(visitor);
    expect(factors.map(({ id }) => id)).not.toContain(left.id);
    expect(shown.html.querySelector("main svg.qr-code")).not.toBeNull();
    expect(shown.html.querySelector(".factor-key")?.text.replaceAll(" ", "")).toBe(secret);
    const form = shown.html.querySelector("main form");
    const wrong = await visitor.submit(form, { code: "000000" });
    expect([wrong.status, problemOf(wrong)]).toEqual([422, expect.stringContaining("wrong or has expired")]);
    expect(wrong.html.querySelector(".factor-key")?.text.replaceAll(" ", "")).toBe(secret);
    const done = await visitor.submit(wrong.html.querySelector("main form"), { code: "123 456" });
    expect(done.location).toBe("/settings/factor?done=added");
    const list = (await visitor.get("/settings/factor?done=added")).html;
    expect(list.querySelector("main h2")?.text).toBe("Phone");
    const removed = await visitor.submit(list.querySelector('form[action="/settings/factor/remove"]'));
    expect(removed.location).toBe("/settings/factor?done=removed");
    expect(factors).toEqual([]);
  });

  test("the key is shown once", async () => {
    const visitor = await afterPassword();
    await add(visitor);
    const again = await visitor.get("/settings/factor/code");
    expect([again.status, again.text.includes(secret)]).toEqual([200, false]);
    const forged = await visitor.post("/settings/factor/code", {
      factor_id: randomUUID(),
      uri: "javascript:alert(1)",
      code: right,
    });
    expect([forged.status, forged.text.includes("javascript:")]).toEqual([422, false]);
  });

  test.each([
    [refused(422, "mfa_factor_name_conflict", "exists"), "already have"],
    [refused(422, "too_many_enrolled_mfa_factors", "Maximum number"), "Remove one first"],
    [refused(422, "mfa_totp_enroll_not_enabled", "MFA enroll is disabled for TOTP"), "doesn’t offer two-factor"],
    [refused(404, "not_found", "There is no such address"), "doesn’t offer two-factor"],
  ])("shows a message for %j", async (given, said) => {
    instead["POST /factors"] = given;
    const answered = await add(await afterPassword());
    expect([answered.status, problemOf(answered)]).toEqual([422, expect.stringContaining(said)]);
  });

  test("asks for the code if auth answers insufficient_aal", async () => {
    const { id } = await withFactor();
    const visitor = await afterPassword();
    await enter(visitor, right);
    instead["POST /factors"] = refused(403, "insufficient_aal", "AAL2 required to enroll a new factor");
    instead["DELETE /factors/:id"] = refused(422, "insufficient_aal", "AAL2 required to unenroll");
    const asked = "/sign-in/factor?return_to=%2Fsettings%2Ffactor";
    expect((await add(visitor)).location).toBe(asked);
    expect((await visitor.post("/settings/factor/remove", { factor_id: id })).location).toBe(asked);
  });
});
