import { createHmac, randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { messagesOf } from "../../functions/words/index.ts";
import { capturedMails } from "../../local/functions/mail-capture.ts";
import { locales } from "../../shared/locales.ts";
import { type OwnStack, startOwnStack } from "../own-stack.ts";
import { accessToken } from "../stack.ts";
import { until } from "../until.ts";
import { newVisitor, type Visitor } from "./pages.ts";
import { type Recorded, type RecordedAuth, refusal, startRecordedAuth } from "./recorded-auth.ts";

// The pages with recorded answers of the real auth: tests/web/recorded-auth.ts stands in for it.

const hookSecret = `whsec_${Buffer.from("0123456789abcdef0123456789abcdef").toString("base64")}`;

let auth: RecordedAuth;
let own: OwnStack;

beforeAll(async () => {
  auth = await startRecordedAuth(() => own.supabase_url);
  own = await startOwnStack({
    parts: ["auth", "web", "mail-dispatch"],
    functionsEnvironment: {
      SUPABASE_URL: auth.url,
      SUPABASE_INTERNAL_URL: auth.url,
      AUTH_API_KEY: "sb_secret_of_the_pages",
      AUTH_MAIL_SECRET: hookSecret,
    },
  });
});
afterAll(async () => {
  await own?.remove();
  await auth?.stop();
});
beforeEach(async () => {
  auth.answers({});
  await own.sql`delete from private.rate_counters`;
});

const visitor = () => newVisitor([], own.site_url);
const post = (path: string, fields: Record<string, string>, by: Visitor = visitor()) =>
  by.post(path, fields, { origin: own.site_url });
const { account, problems } = messagesOf("en");
const email = () => `${randomUUID()}@person.example`;
const signUp = { name: "Ann", password: "correct horse battery" };

/** A visitor who is signed in with a session that auth did not issue. */
async function signedIn(): Promise<Visitor & { userId: string }> {
  const person = await own.person();
  const session = {
    access_token: await accessToken({ sub: person.id, session_id: undefined }, 3600, own.jwtSecret),
    refresh_token: "r",
    token_type: "bearer",
    expires_in: 3600,
    expires_at: Math.floor(Date.now() / 1000) + 3600,
  };
  const value = `base64-${Buffer.from(JSON.stringify(session)).toString("base64url")}`;
  return { ...newVisitor([{ name: "sb-127-auth-token", value }], own.site_url), userId: person.id };
}

describe.concurrent("shows a message for each error of auth", () => {
  test.each<[what: string, answer: Recorded, status: number, said: string]>([
    ["a wrong password", refusal(400, "invalid_credentials", "Invalid login credentials"), 422, account.wrong],
    // Auth returns this error before it checks the password.
    ["a banned account", refusal(400, "user_banned", "User is banned"), 422, account.wrong],
    ["mail off", refusal(422, "email_provider_disabled", "Email logins are disabled"), 422, account.wayOff],
    ["a CAPTCHA", refusal(400, "captcha_failed", "captcha protection: request disallowed"), 422, account.captchaUnset],
    ["too many", refusal(429, "over_request_rate_limit", "Request rate limit reached"), 429, account.tooOften(60)],
    ["auth that is down", { status: 502 }, 503, account.away],
    ["an error of auth", refusal(500, "unexpected_failure", "Database error querying schema"), 503, account.away],
    ["anything else", refusal(400, "something_new", "New"), 422, account.notPossible],
  ])("%s", async (_what, answer, status, said) => {
    const address = email();
    auth.answersAbout(address, { "/token": answer });
    const refused = await post("/sign-in", { email: address, password: "wrong one" });
    expect([refused.status, refused.html.querySelector("[role=alert]")?.text]).toEqual([status, said]);
    expect(refused.headers["retry-after"] !== undefined).toBe(status !== 422);
  });

  const password =
    "Password should contain at least one character of each: abcdefghijklmnopqrstuvwxyz, ABCDEFGHIJKLMNOPQRSTUVWXYZ, 0123456789.";
  const weak = (reasons: string[], message: string) =>
    refusal(422, "weak_password", message, { weak_password: { reasons } });
  test.each<[answer: Recorded, said: string]>([
    [weak(["length"], "Password should be at least 12 characters."), "Use at least 12 characters."],
    [weak(["characters"], password), "Use at least one of each: lowercase letters, uppercase letters, digits."],
    [weak(["pwned"], "Password is known to be weak and easy to guess, please choose a different one."), account.pwned],
    [
      weak(["length", "pwned"], "Password should be at least 12 characters. Password is known to be weak."),
      `Use at least 12 characters. ${account.pwned}`,
    ],
    [refusal(400, "validation_failed", "Password cannot be longer than 72 characters"), problems.bytes(72)],
  ])("a password that auth refuses: %j", async (answer, said) => {
    const address = email();
    auth.answersAbout(address, { "/signup": answer });
    const refused = await post("/sign-up", { ...signUp, email: address });
    expect([refused.status, refused.html.querySelector("#password-problem")?.text.trim()]).toEqual([
      422,
      `Password: ${said}`,
    ]);
  });

  test.each(locales)("a password over 72 bytes is refused before auth is asked, in %s", async (locale) => {
    const address = email();
    const asked = auth.answersAbout(address, { "/signup": refusal(500, "unexpected_failure") });
    const fields = { ...signUp, password: "пароль".repeat(12), email: address };
    const refused = await post(`/sign-up?lang=${locale}`, fields);
    expect(refused.html.querySelector("#password-problem")?.text).toContain("72");
    expect(asked).toEqual([]);
    expect((await post("/sign-up", { ...fields, password: "пароль".repeat(6) })).status).toBe(303);
  });
});

describe("a new password", () => {
  test.each([
    ["same_password", "New password should be different from the old password.", 422, undefined],
    ["user_sso_managed", "Updating email, phone, password of a SSO account only possible via SSO", 422, undefined],
    ["reauthentication_needed", "Password update requires reauthentication", 303, "/reset"],
    ["current_password_required", "Current password required when setting new password.", 303, "/reset"],
    ["current_password_mismatch", "Current password required when setting new password.", 303, "/reset"],
    ["insufficient_aal", "AAL2 session is required", 303, "/sign-in/factor?return_to=%2Freset%2Fpassword"],
  ])("that auth answers with %s", async (code, message, status, location) => {
    auth.answers({ "/user": refusal(422, code, message) });
    const answer = await post("/reset/password", { password: "another battery" }, await signedIn());
    expect([answer.status, answer.location], answer.text).toEqual([status, location]);
    if (code === "same_password") expect(answer.text).toContain(account.samePassword);
    if (code === "user_sso_managed") expect(answer.text).toContain(account.ssoManaged);
  });
});

describe.concurrent("an address with an account is like one without", () => {
  const known: Recorded = { status: 200, body: { id: randomUUID(), email: "", identities: [], role: "" } };
  const seconds = refusal(
    429,
    "over_email_send_rate_limit",
    "For security purposes, you can only request this after 0 seconds.",
  );
  const hook = refusal(500, "unexpected_failure", "Unexpected status code returned from hook: 503");

  test.each<[path: string, auth: Record<string, Recorded | Recorded[]>]>([
    ["/sign-in/email", { "/otp": refusal(422, "otp_disabled", "Signups not allowed for otp") }],
    ["/sign-in/email", { "/otp": { status: 200, body: {} } }],
    ["/sign-in/email", { "/otp": seconds }],
    ["/sign-in/email", { "/otp": hook }],
    ["/sign-in/email", { "/otp": refusal(429, "over_email_send_rate_limit", "email rate limit exceeded") }],
    ["/sign-in/email", { "/otp": refusal(422, "signup_disabled", "Signups not allowed for this instance") }],
    ["/reset", { "/recover": { status: 200, body: {} } }],
    ["/reset", { "/recover": seconds }],
    ["/reset", { "/recover": hook }],
    ["/sign-up", { "/signup": seconds }],
    ["/sign-up", { "/signup": hook }],
    ["/sign-up", { "/signup": known, "/otp": { status: 200, body: {} } }],
    ["/sign-up", { "/signup": known, "/otp": seconds }],
    ["/sign-up", { "/signup": known, "/otp": hook }],
  ])("at %s, when auth answers %j", async (path, answers) => {
    const address = email();
    auth.answersAbout(address, answers);
    const answer = await post(path, { ...signUp, email: address });
    const code = path === "/reset" ? "/reset/code" : "/sign-in/code";
    expect([answer.status, answer.location], answer.text).toEqual([303, code]);
  });

  test("the owner of an account who signs up again gets a code", async () => {
    const address = email();
    const asked = auth.answersAbout(address, { "/signup": known, "/otp": { status: 200, body: {} } });
    await post("/sign-up", { ...signUp, email: address });
    expect(asked.map(({ path, body }) => [path, body.email, body.create_user])).toEqual([
      ["/signup", address, undefined],
      ["/otp", address, false],
    ]);
  });

  test("the hourly limit of mails has the same answer for both", async () => {
    const limit = refusal(429, "over_email_send_rate_limit", "email rate limit exceeded");
    const both: Record<string, Recorded>[] = [{ "/signup": limit }, { "/signup": known, "/otp": limit }];
    for (const answers of both) {
      const address = email();
      auth.answersAbout(address, answers);
      const answer = await post("/sign-up", { ...signUp, email: address });
      expect([answer.status, answer.headers["retry-after"]]).toEqual([429, "3600"]);
      expect(answer.text).toContain(account.mailLimit);
    }
  });

  const mailsOfHour = refusal(429, "over_email_send_rate_limit", "email rate limit exceeded");
  test("a request for which auth sent no mail counts for the account", async () => {
    for (const [path, answers] of [
      ["/sign-up", { "/signup": seconds }],
      ["/sign-up", { "/signup": mailsOfHour }],
      ["/sign-in/email", { "/otp": seconds }],
      ["/sign-in/email", { "/otp": mailsOfHour }],
      ["/reset", { "/recover": mailsOfHour }],
    ] as const) {
      const address = email();
      await own.sql`insert into auth.users (id, aud, role, email, confirmation_token)
        values (${randomUUID()}, 'authenticated', 'authenticated', ${address}, ${randomUUID()})`;
      auth.answersAbout(address, answers);
      await post(path, { ...signUp, email: address });
      const requests = async () =>
        (
          await own.sql`select r.requests from private.unconfirmed_requests r
          join auth.users u on u.id = r.user_id where u.email = ${address}`
        )[0]?.requests;
      await until(async () => (await requests()) === 2);
    }
  });
});

test("every address learns that sign-in by mail is off", async () => {
  const off = refusal(422, "email_provider_disabled", "Login with magic link is disabled");
  const unknown = refusal(422, "otp_disabled", "Signups not allowed for otp");
  for (const otp of [
    [off, off],
    [unknown, off],
  ]) {
    auth.answers({ "/otp": otp });
    const answer = await post("/sign-in/email", { email: email() });
    expect([answer.status, answer.html.querySelector("[role=alert]")?.text]).toEqual([422, account.wayOff]);
    expect(auth.asked[1]?.body.email).not.toContain("@");
  }
});

test.concurrent.each(["/sign-in/code", "/reset/code"])("%s does not tell that an account is banned", async (path) => {
  const address = email();
  auth.answersAbout(address, { "/verify": refusal(403, "user_banned", "User is banned") });
  const refused = await post(path, { email: address, code: "123456" });
  expect(refused.html.querySelector("[role=alert]")?.text).toBe(account.expired);
});

test.concurrent.each(["123 456", "123-456", "１２３４５６", "123\u2009456"])("the code %j is 123456", async (typed) => {
  const address = email();
  const asked = auth.answersAbout(address, {
    "/verify": refusal(403, "otp_expired", "Token has expired or is invalid"),
  });
  const wrong = await post("/sign-in/code", { email: address, code: typed });
  expect(wrong.html.querySelector("[role=alert]")?.text).toBe(account.expired);
  expect(asked[0]?.body.token).toBe("123456");
});

describe("a provider", () => {
  test.each([
    ["error=access_denied&error_description=The+user+has+denied+your+application+access.", 409, account.cancelled],
    ["error=access_denied&error_code=user_banned", 409, account.blocked],
    ["error=access_denied&error_code=signup_disabled", 409, account.signUpsOff],
    ["error=access_denied&error_code=provider_email_needs_verification", 409, account.confirmMailed],
    ["error=invalid_request&error_code=flow_state_expired", 409, account.expired],
    ["error=other", 409, account.notPossible],
    ["", 409, account.expired],
  ])("shows a message if it returns %j", async (query, status, said) => {
    const answer = await visitor().get(`/auth/callback?${query}`);
    expect(answer.status).toBe(status);
    expect(answer.html.querySelector(".error-page")?.text).toContain(said);
  });

  test("shows a temporary error if auth fails", async () => {
    const query = "error=server_error&error_code=unexpected_failure";
    const answer = await visitor().get(`/auth/callback?${query}`);
    expect([answer.status, Number(answer.headers["retry-after"]) > 0]).toEqual([503, true]);
  });

  test("shows our page if auth has disabled it", async () => {
    auth.answers({ "/authorize": refusal(400, "validation_failed", "Unsupported provider: provider is not enabled") });
    const answer = await visitor().get("/sign-in/github");
    expect([answer.status, answer.location]).toEqual([409, undefined]);
    expect(answer.text).toContain(account.wayOff);
  });

  test("redirects the visitor to it", async () => {
    const at = "https://github.com/login/oauth/authorize?client_id=id&state=s";
    auth.answers({ "/authorize": { status: 302, headers: { location: at } } });
    const browser = visitor();
    const answer = await browser.get("/sign-in/github?return_to=/me");
    expect([answer.status, answer.location]).toEqual([303, at]);
    expect(auth.asked[0]?.query).toMatchObject({
      provider: "github",
      redirect_to: `${auth.url}/auth/callback?return_to=%2Fme`,
      code_challenge: expect.stringMatching(/^.{43}$/),
    });
    // Only this browser can use the provider's answer.
    expect(browser.cookie("sb-127-auth-token-code-verifier")).toBeDefined();
    expect((await visitor().get("/auth/callback?code=stolen")).status).toBe(409);
  });
});

test("mails that the pages ask for count for their visitor, whom auth does not name to its hook", async () => {
  await own.sql`update private.rate_limit_rules set max_requests = 2 where name = 'account_mail_hour'`;
  auth.answers({ "/otp": { status: 200, body: {} } });
  await post("/sign-in/email", { email: email() });
  const redirect_to = auth.asked[0]?.query.redirect_to ?? "";
  const send = async (to: string, redirect: string) => {
    const email_data = { email_action_type: "signup", token: "305805", token_hash: "", redirect_to: redirect };
    const body = JSON.stringify({ user: { email: to }, email_data });
    const [id, timestamp] = [`msg_${randomUUID()}`, String(Math.floor(Date.now() / 1000))];
    const mac = createHmac("sha256", Buffer.from(hookSecret.slice(6), "base64"));
    const signature = `v1,${mac.update(`${id}.${timestamp}.${body}`).digest("base64")}`;
    const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
    const answer = await own.call("POST", "/functions/v1/auth-mail", { base: own.supabase_url, headers, body });
    expect(answer.status).toBe(200);
  };
  const strangers = Array.from({ length: 3 }, email);
  for (const to of strangers) await send(to, redirect_to);
  const last = email();
  await send(last, own.site_url);
  const mails = await until(async () => {
    const captured = await capturedMails(`${own.folder}/mail`);
    return captured.some(({ to }) => to.includes(last)) && captured;
  });
  expect(mails.filter(({ to }) => strangers.some((address) => to.includes(address)))).toHaveLength(2);
  expect(JSON.stringify(mails)).not.toContain("client=");
});

describe("the link of a mail", () => {
  /** An account of auth with the token of a link. */
  async function accountWith(fields: Record<string, string | Date>, name: string | null = "Mallory") {
    const [id, token, address] = [randomUUID(), `pkce_${randomUUID()}`, email()];
    const metadata = own.sql.json(name ? { name } : {});
    await own.sql`insert into auth.users ${own.sql({
      id,
      aud: "authenticated",
      role: "authenticated",
      email: address,
      raw_user_meta_data: metadata as never,
      ...Object.fromEntries(
        Object.entries(fields).map(([column, value]) => [column, value === "token" ? token : value]),
      ),
    })}`;
    return { id, token, address };
  }
  const open = (token: string, type = "signup") => visitor().get(`/auth/confirm?token_hash=${token}&type=${type}`);

  test("names a new account, which its owner may reject", async () => {
    const { id, token, address } = await accountWith({ confirmation_token: "token" });
    const shown = await open(token);
    expect(shown.html.querySelector("main")?.text).toContain(account.linkOfNew(address, "Mallory"));
    const browser = visitor();
    const rejected = await browser.submit(shown.html.querySelectorAll("main form")[1] ?? null);
    expect([rejected.status, rejected.location]).toEqual([303, "/auth/done?what=deleted"]);
    expect((await browser.get(rejected.location ?? "")).text).toContain(account.accountDeleted);
    expect(await own.sql`select from auth.users where id = ${id}`).toHaveLength(0);
    const again = await post("/auth/reject", { token_hash: token });
    expect([again.status, again.html.querySelector("[role=alert]")?.text]).toEqual([422, account.expired]);
  });

  test("names the account whose address is to change, and keeps the address if its owner rejects it", async () => {
    const { id, token } = await accountWith({
      email_change: "new@person.example",
      email_change_token_new: "token",
      email_confirmed_at: new Date(),
    });
    const shown = await open(token, "email_change");
    expect(shown.html.querySelector("main")?.text).toContain(account.linkOfChange("new@person.example", "Mallory"));
    const rejected = await post("/auth/reject", { token_hash: token });
    expect(rejected.location).toBe("/auth/done?what=kept");
    expect((await own.sql`select email_change from auth.users where id = ${id}`)[0]?.email_change).toBe("");
  });

  test("names the account that it signs in, which cannot be rejected", async () => {
    const { id, token, address } = await accountWith({ recovery_token: "token", email_confirmed_at: new Date() });
    const shown = await open(token, "magiclink");
    expect(shown.html.querySelector("main")?.text).toContain(account.linkOfAccount(address, "Mallory"));
    expect(shown.html.querySelectorAll("main form")).toHaveLength(1);
    await post("/auth/reject", { token_hash: token });
    expect(await own.sql`select from auth.users where id = ${id}`).toHaveLength(1);
  });

  test("that is unknown names nobody", async () => {
    const shown = await open("unknown");
    expect(shown.html.querySelector("main")?.text).toContain(account.linkText);
    expect(shown.html.querySelectorAll("main form")).toHaveLength(1);
  });

  test("that confirms the first of two addresses asks for the other one", async () => {
    const msg = "Confirmation link accepted. Please proceed to confirm link sent to the other email";
    auth.answers({ "/verify": { status: 200, body: { code: "200", msg } } });
    const browser = visitor();
    const done = await post("/auth/confirm", { token_hash: "t", type: "email_change" }, browser);
    expect([done.status, done.location]).toEqual([303, "/auth/done?what=half"]);
    expect((await browser.get(done.location ?? "")).text).toContain(account.halfText);
  });

  /** Auth's answer to a link that signs in. */
  async function session(id: string): Promise<Recorded> {
    const user = { id, aud: "authenticated", email: "x@person.example", app_metadata: {}, user_metadata: {} };
    const access_token = await accessToken({ sub: id, session_id: undefined }, 3600, own.jwtSecret);
    return { status: 200, body: { access_token, refresh_token: "r", token_type: "bearer", expires_in: 3600, user } };
  }

  test("of a reset opens the page of the new password once, whatever return_to says", async () => {
    const { id } = await own.person();
    auth.answers({ "/verify": await session(id) });
    for (const [return_to, location] of [
      ["/reset/password", "/reset/password"],
      ["/reset/password?return_to=%2Froadmap", "/reset/password?return_to=%2Froadmap"],
      ["/roadmap", "/reset/password?return_to=%2Froadmap"],
    ] as const) {
      const done = await post("/auth/confirm", { token_hash: "t", type: "recovery", return_to });
      expect([done.status, done.location]).toEqual([303, location]);
    }
  });

  test.each([
    ["without a password", "signup", "", "/reset/password?return_to=%2Fme&first=true"],
    ["with a password", "signup", "$2a$10$hash", "/me"],
    ["that was invited", "invite", "$2a$10$hash", "/reset/password?return_to=%2Fme&first=true"],
  ])("of a new account %s", async (_what, type, encrypted_password, location) => {
    const { id } = await accountWith({ encrypted_password, email_confirmed_at: new Date() }, null);
    auth.answers({ "/verify": await session(id) });
    const browser = visitor();
    const done = await post("/auth/confirm", { token_hash: "t", type, return_to: "/me" }, browser);
    expect([done.status, done.location]).toEqual([303, location]);
    if (type !== "invite") return;
    const { html } = await browser.get(location);
    expect(html.querySelector("main .link")?.getAttribute("href")).toBe("/me");
    auth.answers({ "/user": { status: 200, body: { id } }, "/logout": { status: 204 } });
    const saved = await browser.submit(html.querySelector("main form"), { name: "Ina", password: "a new password" });
    expect([saved.status, saved.location], saved.text).toEqual([303, "/me"]);
    expect((await own.sql`select name from public.profiles where id = ${id}`)[0]?.name).toBe("Ina");
  });
});

// Last: the functions remember who was limited.
describe("attempts of one address", () => {
  test.each([
    ["sign_in", "/sign-in", { email: "a@person.example", password: "wrong one" }],
    ["sign_in", "/sign-in/code", { email: "a@person.example", code: "123456" }],
    ["sign_in", "/reset/code", { email: "a@person.example", code: "123456" }],
    ["sign_in", "/auth/confirm", { token_hash: "wrong", type: "email" }],
    ["sign_in", "/auth/reject", { token_hash: "wrong" }],
    ["sign_in_mail", "/sign-in/email", { email: "a@person.example" }],
    ["sign_in_mail", "/reset", { email: "a@person.example" }],
    ["sign_in_mail", "/sign-up", { ...signUp, email: "a@person.example" }],
  ])("%s is charged by %s before auth is asked", async (rule, path, fields) => {
    await own.sql`delete from private.rate_counters`;
    await own.sql`update private.rate_limit_rules set max_requests = (name = ${rule})::int * -19 + 20
      where name like 'sign_in%'`;
    const wrong = refusal(400, "invalid_credentials");
    auth.answers({ "/token": wrong, "/verify": wrong, "/otp": wrong, "/recover": wrong, "/signup": wrong });
    const by = visitor();
    expect((await post(path, fields, by)).status).not.toBe(429);
    const calls = auth.asked.length;
    const limited = await post(path, fields, by);
    expect([limited.status, Number(limited.headers["retry-after"]) > 0]).toEqual([429, true]);
    expect(auth.asked).toHaveLength(calls);
  });
});
