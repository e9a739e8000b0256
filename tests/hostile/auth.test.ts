import { createHash, randomUUID } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@supabase/supabase-js";
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from "jose";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { tokenIssuer } from "../../local/lite/auth-config.ts";
import fc, { runs } from "../fuzz.ts";
import { type Answer, type OwnStack, startOwnStack } from "../own-stack.ts";

// A project that rotates from a shared secret to signing keys has tokens of both kinds.
const signing = generateKeyPair("ES256");
async function publicKeys(): Promise<string> {
  const key = await exportJWK((await signing).publicKey);
  return JSON.stringify({ keys: [{ ...key, kid: "new", alg: "ES256", use: "sig" }] });
}

let own: OwnStack;
/** A superuser connection: reads what a dump of the database contains. */
let dump: postgres.Sql;
beforeAll(async () => {
  own = await startOwnStack({ parts: ["auth", "rest"], functionsEnvironment: { SUPABASE_JWKS: await publicKeys() } });
  await own.sql`update private.rate_limit_rules set max_requests = 1000000`;
  dump = postgres(own.superuserUrl, { max: 2 });
});
afterAll(async () => {
  await dump?.end();
  await own?.remove();
});

let addresses = 0;
const anAddress = () => `127.1.${Math.floor(++addresses / 250)}.${1 + (addresses % 250)}`;
const anEmail = () => `${randomUUID()}@test.example`;
const password = "correct horse battery";

interface More {
  from?: string;
  token?: string | undefined;
  body?: unknown;
}
const auth = (method: string, path: string, { from = anAddress(), token, body }: More = {}) =>
  own.call(method, `/auth/v1${path}`, {
    base: own.supabase_url,
    headers: { apikey: own.publishable_key },
    from,
    token,
    body,
  });
const signIn = (email: string, word: string, from?: string) =>
  auth("POST", "/token?grant_type=password", { ...(from && { from }), body: { email, password: word } });
const verify = (email: string, token: string, from?: string, type = "recovery") =>
  auth("POST", "/verify", { ...(from && { from }), body: { email, token, type } });
const recover = (email: string, from?: string) => auth("POST", "/recover", { ...(from && { from }), body: { email } });

async function person(from = anAddress(), data: object = {}) {
  const email = anEmail();
  const answer = await auth("POST", "/signup", { from, body: { email, password, data } });
  expect(answer.status, answer.text).toBe(200);
  const { access_token: token, refresh_token: refresh } = answer.body as Record<string, string>;
  return { email, token, refresh };
}

interface Mail {
  to: string;
  text: string;
}
const mailPath = () => join(own.folder, "mail.log");
async function mailsTo(email: string): Promise<{ code: string; link: string }[]> {
  const text = await readFile(mailPath(), "utf8").catch(() => "");
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Mail)
    .filter(({ to }) => to === email)
    .map(({ text }) => ({
      code: /code(?: is)?: (\d{6})/.exec(text)?.[1] ?? "",
      link: verifyLink(/http\S+/.exec(text)?.[0] ?? ""),
    }));
}
/** The link leads to a page that asks for confirmation; its target at auth can be opened directly too. */
function verifyLink(link: string): string {
  const { searchParams } = new URL(link);
  const query = { type: searchParams.get("type") ?? "", token: searchParams.get("token_hash") ?? "" };
  return `${own.supabase_url}/auth/v1/verify?${new URLSearchParams(query)}`;
}
/** Requests a code and reads it from the file that takes the place of a mailbox. */
async function codeFor(email: string, from?: string) {
  expect((await recover(email, from)).status).toBe(200);
  const mail = (await mailsTo(email)).at(-1);
  if (!mail) throw new Error("no mail was written");
  return mail;
}
const wrong = (code: string, step = 1) => String((Number(code) + step) % 1_000_000).padStart(6, "0");
const errorOf = (answer: Answer) => [answer.status, answer.body.error_code];
const count = (answers: Answer[], status: number) => answers.filter((one) => one.status === status).length;

/** Changes a limit like an operator, with immediate effect. */
async function withLimit(action: string, countedBy: string, max: number, use: () => Promise<void>) {
  const set = (to: number) =>
    dump`update auth_limits.rules set max_tries = ${to} where action = ${action} and counted_by = ${countedBy}`;
  const [rule] = await dump`
    select max_tries from auth_limits.rules where action = ${action} and counted_by = ${countedBy}`;
  await set(max);
  await use().finally(() => set(rule?.max_tries));
}

describe("a one-time code", () => {
  it("expires after five wrong attempts, from any number of addresses and concurrently", async () => {
    const { email } = await person();
    const { code, link } = await codeFor(email);
    const tries = await Promise.all(Array.from({ length: 200 }, (_, index) => verify(email, wrong(code, index + 1))));
    // Failures without a password check are limited too: 30 for an account.
    expect([count(tries, 403), count(tries, 429)]).toEqual([30, 170]);
    await dump`delete from auth_limits.counters where action = 'verify'`;
    expect(errorOf(await verify(email, code))).toEqual([403, "otp_expired"]);
    const [left] = await dump`
      select failures from auth_limits.code_failures f join auth.users u on u.id = f.user_id where u.email = ${email}`;
    expect(left).toEqual({ failures: 5 });
    // Its link cannot be guessed, so another user's attempts do not invalidate it.
    const opened = await auth("GET", new URL(link).pathname.slice(8) + new URL(link).search);
    expect([opened.status, String(opened.headers.location)]).toEqual([303, expect.stringContaining("#access_token=")]);
  });

  it.concurrent("is accepted after four wrong attempts, and a new code has five again", async () => {
    const { email } = await person();
    const first = await codeFor(email);
    for (let index = 1; index <= 5; index++) await verify(email, wrong(first.code, index));
    const second = await codeFor(email);
    for (let index = 1; index <= 4; index++) await verify(email, wrong(second.code, index));
    expect((await verify(email, second.code)).status).toBe(200);
  });

  it.concurrent("can be used once, also by two concurrent requests, and together with its link", async () => {
    const { email } = await person();
    const { code, link } = await codeFor(email);
    const both = await Promise.all([verify(email, code), verify(email, code)]);
    expect(both.map((one) => one.status).toSorted()).toEqual([200, 403]);
    expect((await verify(email, code)).status).toBe(403);
    const opened = await auth("GET", new URL(link).pathname.slice(8) + new URL(link).search);
    expect(String(opened.headers.location)).toContain("error_code=otp_expired");
  });

  it.concurrent("expires when a new one is sent", async () => {
    const { email } = await person();
    const [first, second] = [await codeFor(email), await codeFor(email)];
    expect((await verify(email, first.code)).status).toBe(403);
    const token = new URL(first.link).searchParams.get("token");
    const byHash = await auth("POST", "/verify", { body: { token_hash: token, type: "recovery" } });
    expect(byHash.status).toBe(403);
    expect((await verify(email, second.code)).status).toBe(200);
  });

  it.concurrent("is not accepted as the hash that @supabase/lite stores, in a body or a link", async () => {
    const { email } = await person();
    const { code } = await codeFor(email);
    const hash = createHash("sha256").update(`${email}${code}`).digest("hex");
    const answer = await auth("POST", "/verify", { body: { token_hash: hash, type: "recovery" } });
    expect(errorOf(answer)).toEqual([403, "otp_expired"]);
    const opened = await auth("GET", `/verify?type=recovery&token=${hash}`);
    expect(String(opened.headers.location)).toContain("error_code=otp_expired");
    expect((await verify(email, code)).status).toBe(200);
  });

  it.concurrent("of a magic link and of an e-mail change allows the same five attempts", async () => {
    const { email, token } = await person();
    const next = anEmail();
    await auth("POST", "/otp", { body: { email, create_user: false } });
    await auth("PUT", "/user", { token, body: { email: next } });
    const [magic, change] = await mailsTo(email);
    const [changed] = await mailsTo(next);
    for (const [mail, type, to] of [
      [magic, "magiclink", email],
      [change, "email_change", email],
      [changed, "email_change", next],
    ] as const) {
      const code = mail?.code ?? "";
      expect(code).toMatch(/^\d{6}$/);
      for (let index = 1; index <= 5; index++) await verify(to, wrong(code, index), undefined, type);
      expect((await verify(to, code, undefined, type)).status, type).toBe(403);
    }
  });

  it.concurrent("is accepted from its link without an API key, once", async () => {
    const { email } = await person();
    const { link } = await codeFor(email);
    const open = async () => (await fetch(link, { redirect: "manual" })).headers.get("location");
    expect(await open()).toContain("#access_token=");
    expect(await open()).toContain("error_code=otp_expired");
  });

  it.concurrent("is not consumed by HEAD", async () => {
    const { email } = await person();
    const { code, link } = await codeFor(email);
    expect((await fetch(link, { method: "HEAD", redirect: "manual" })).status).toBe(404);
    expect((await verify(email, code)).status).toBe(200);
  });

  it("cannot be guessed by many clients over many accounts: then links work, and codes where one has signed in", () =>
    withLimit("code", "everyone", 4, async () => {
      const [{ email }, known] = [await person(), await person()];
      const [home, ofPerson] = [anAddress(), await codeFor(email)];
      expect((await signIn(known.email, password, home)).status).toBe(200);
      const ofKnown = await codeFor(known.email);
      await dump`delete from auth_limits.counters where action = 'code'`;
      const guesses = await Promise.all(Array.from({ length: 6 }, () => verify(anEmail(), "123456")));
      expect([count(guesses, 403), count(guesses, 429)]).toEqual([4, 2]);
      expect(errorOf(await verify(email, ofPerson.code))).toEqual([429, "over_request_rate_limit"]);
      expect((await verify(known.email, ofKnown.code, home)).status).toBe(200);
      const opened = await auth("GET", new URL(ofPerson.link).pathname.slice(8) + new URL(ofPerson.link).search);
      expect(String(opened.headers.location)).toContain("#access_token=");
    }));
});

describe("guessing passwords", () => {
  it("stops after ten wrong attempts for an account from an address, exactly, with Retry-After", async () => {
    const { email } = await person();
    const from = anAddress();
    const tries = await Promise.all(Array.from({ length: 16 }, () => signIn(email, "wrong", from)));
    expect([count(tries, 400), count(tries, 429)]).toEqual([10, 6]);
    const rejected = await signIn(email, password, from);
    expect(errorOf(rejected)).toEqual([429, "over_request_rate_limit"]);
    expect(Number(rejected.headers["retry-after"])).toBeGreaterThan(500);
    expect(Number(rejected.headers["retry-after"])).toBeLessThanOrEqual(600);
  });

  it("stops after the limit of an address, for any accounts", () =>
    withLimit("sign_in", "address", 6, async () => {
      const from = anAddress();
      const tries = await Promise.all(Array.from({ length: 10 }, () => signIn(anEmail(), "wrong", from)));
      expect([count(tries, 400), count(tries, 429)]).toEqual([6, 4]);
    }));

  it("that exhausts every limit of an account does not lock its owner out at a known or a new address", () =>
    withLimit("sign_in", "account", 6, async () => {
      const [home, elsewhere] = [anAddress(), anAddress()];
      const { email } = await person();
      expect((await signIn(email, password, home)).status).toBe(200);
      await Promise.all(Array.from({ length: 12 }, () => recover(email)));
      await Promise.all(Array.from({ length: 40 }, (_, n) => verify(email, String(n).padStart(6, "0"))));
      await Promise.all(Array.from({ length: 8 }, () => signIn(email, "wrong")));
      for (const rejected of [
        await signIn(email, password, elsewhere),
        await recover(email, elsewhere),
        await verify(email, "123456", elsewhere),
      ])
        expect(rejected.status).toBe(429);
      expect((await signIn(email, password, home)).status).toBe(200);
      // The mails that the attacker requested belong to the owner: the link of the last one signs in from
      // anywhere.
      const opened: string[] = [];
      for (const { link } of await mailsTo(email)) {
        const { pathname, search } = new URL(link);
        const answer = await auth("GET", pathname.slice(8) + search, { from: elsewhere });
        opened.push(String(answer.headers.location));
      }
      expect(opened.filter((location) => location.includes("#access_token="))).toHaveLength(1);
      expect((await signIn(email, password, elsewhere)).status).toBe(200);
    }));

  it("from many addresses does not lock an owner out where they have signed in before", () =>
    withLimit("sign_in", "account", 6, async () => {
      const home = anAddress();
      const { email } = await person();
      expect((await signIn(email, password, home)).status).toBe(200);
      const tries = await Promise.all(Array.from({ length: 8 }, () => signIn(email, "wrong")));
      expect([count(tries, 400), count(tries, 429)]).toEqual([6, 2]);
      expect((await signIn(email, password)).status, "from a new address").toBe(429);
      expect((await signIn(email, password, home)).status, "from a known one").toBe(200);
    }));

  it("does not block an office with many users behind one address", () =>
    withLimit("sign_in", "address", 4, async () => {
      const office = anAddress();
      const people = await Promise.all(Array.from({ length: 3 }, () => person()));
      for (let round = 0; round < 3; round++) {
        const answers = await Promise.all(people.map(({ email }) => signIn(email, password, office)));
        expect(count(answers, 200)).toBe(3);
      }
    }));

  it("is reported by supabase-js like any error of GoTrue", async () => {
    const client = createClient(own.supabase_url, own.publishable_key, {
      auth: { persistSession: false, autoRefreshToken: false },
      realtime: { transport: WebSocket as never },
    });
    const { email } = await person();
    for (let index = 0; index < 10; index++) await client.auth.signInWithPassword({ email, password: "wrong" });
    const { error } = await client.auth.signInWithPassword({ email, password });
    expect([error?.status, error?.code]).toEqual([429, "over_request_rate_limit"]);
    expect(error?.message).toContain("Try again in");
  });

  it("stores no IP address and no e-mail address in the counters", async () => {
    const [stored] = await dump`
      select string_agg(subject, ' ') ~ '@|127\\.' as plain, count(*)::int as some from auth_limits.counters`;
    expect(stored).toEqual({ plain: false, some: expect.any(Number) });
    expect(stored?.some).toBeGreaterThan(10);
    const [known] =
      await dump`select bool_or(address ~ '127' and length(address) < 64) as plain from auth_limits.known_addresses`;
    expect(known).toEqual({ plain: false });
  });
});

describe("requests that send a mail or create an account or a session", () => {
  it("are limited: mails by IP address and account", async () => {
    const { email } = await person();
    const from = anAddress();
    const asked: Answer[] = [];
    for (let index = 0; index < 6; index++) asked.push(await recover(email, from));
    expect([count(asked, 200), count(asked, 429)]).toEqual([5, 1]);
    expect(asked.at(-1)?.body.error_code).toBe("over_email_send_rate_limit");
    for (let index = 0; index < 6; index++) asked.push(await auth("POST", "/otp", { body: { email } }));
    expect([count(asked, 200), count(asked, 429)], "from everywhere").toEqual([10, 2]);
    expect(await mailsTo(email)).toHaveLength(10);
  });

  it("are limited: refreshes with invalid tokens", async () => {
    const from = anAddress();
    const tries = await Promise.all(
      Array.from({ length: 70 }, () =>
        auth("POST", "/token?grant_type=refresh_token", { from, body: { refresh_token: randomUUID() } }),
      ),
    );
    expect([count(tries, 400), count(tries, 429)]).toEqual([60, 10]);
  });

  it("are limited: sign-ups for variants of one mailbox", async () => {
    const { email } = await person();
    const tries = await Promise.all(
      Array.from({ length: 12 }, () => auth("POST", "/signup", { body: { email, password } })),
    );
    expect([count(tries, 422), count(tries, 429)]).toEqual([9, 3]);
    const variant = email.replace("@", "+news@");
    expect((await auth("POST", "/signup", { body: { email: variant, password } })).status).toBe(429);
  });
});

describe("the existence of an account", () => {
  const timed = async (request: () => Promise<Answer>) => {
    const before = performance.now();
    const answer = await request();
    return { told: [answer.status, answer.text], took: performance.now() - before };
  };

  it.each([
    ["signing in", (email: string) => signIn(email, "wrong"), 400],
    ["asking for a new password", (email: string) => recover(email), 200],
    ["asking for a code", (email: string) => auth("POST", "/otp", { body: { email, create_user: false } }), 200],
    ["asking for a link", (email: string) => auth("POST", "/magiclink", { body: { email } }), 200],
    ["asking again", (email: string) => auth("POST", "/resend", { body: { email, type: "email_change" } }), 200],
    ["trying a code", (email: string) => verify(email, "123456"), 403],
  ])("is not revealed by %s, nor by response times", async (_what, request, status) => {
    const withAccount = async () => {
      const { email, token } = await person();
      await auth("PUT", "/user", { token, body: { email: anEmail() } });
      return email;
    };
    let email = await withAccount();
    // Compares the minimum times: load on the machine only adds to them, and a real difference remains.
    let [least, other] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    const ratio = () => Math.max(least, other) / Math.min(least, other);
    for (let round = 0; round < 3 || (ratio() >= 1.6 && round < 40); round++) {
      // An account gets ten mails an hour.
      if (round > 0 && round % 5 === 0) email = await withAccount();
      // The two requests alternate in order, because work after a response, such as a mail, slows down the next one.
      const ofKnown = () => timed(() => request(email));
      const ofUnknown = () => timed(() => request(anEmail()));
      const first = await (round % 2 === 0 ? ofKnown : ofUnknown)();
      const second = await (round % 2 === 0 ? ofUnknown : ofKnown)();
      const [known, unknown] = round % 2 === 0 ? [first, second] : [second, first];
      expect(unknown.told).toEqual(known.told);
      expect(known.told[0]).toBe(status);
      [least, other] = [Math.min(least, known.took), Math.min(other, unknown.took)];
    }
    expect(ratio(), `${least} ${other}`).toBeLessThan(1.6);
  });
});

describe("metadata", () => {
  const sized = (bytes: number) => ({ note: "x".repeat(bytes - '{"note": ""}'.length) });

  it("has at most 2 KB, at sign-up and later", async () => {
    const { token } = await person(anAddress(), sized(1_900));
    const tooLarge = await auth("POST", "/signup", { body: { email: anEmail(), password, data: sized(2_049) } });
    expect(errorOf(tooLarge)).toEqual([422, "validation_failed"]);
    expect(tooLarge.body.msg).toContain("2 KB");
    const update = (data: object) => auth("PUT", "/user", { token, body: { data } });
    expect((await update({ note: "short" })).status).toBe(200);
    expect((await update(sized(2_049))).status).toBe(422);
    // Splitting the metadata over several updates does not help either.
    expect((await update({ a: "x".repeat(1_200) })).status).toBe(200);
    expect((await update({ b: "x".repeat(1_200) })).status).toBe(422);
    expect((await update({ b: "x" })).status).toBe(200);
  });

  it("of 9 MB is rejected before it is read", async () => {
    const answer = await auth("POST", "/signup", {
      body: { email: anEmail(), password, data: { note: "x".repeat(9 * 1024 * 1024) } },
    });
    expect(answer.status).toBe(413);
    const [{ largest } = { largest: 0 }] = await dump<{ largest: number }[]>`
      select max(pg_column_size(raw_user_meta_data)) as largest from auth.users`;
    expect(largest).toBeLessThan(3_000);
  });
});

describe("no input makes a 500", () => {
  const deep = (levels: number) => JSON.parse(`${'{"settings":'.repeat(levels)}1${"}".repeat(levels)}`);
  const odd = [null, 1, true, "", "x", "\0", "\ud800", "x".repeat(300), [], ["a@b.c"], {}, { a: 1 }, deep(30)];

  it.concurrent.each([
    ["nested settings", { settings: { theme: { dark: true } }, name: "Ada" }, 200],
    ["a name that is an object", { name: { first: "Ada" } }, 200],
    ["a name that is a list", { name: ["Ada"], full_name: 7, avatar_url: { a: [] } }, 200],
    ["a very long name", { name: "x".repeat(1_500) }, 200],
    ["a name of spaces", { name: "   " }, 200],
    ["nesting without end", deep(2_000), 400],
    ["a NUL", { name: "a\0b" }, 400],
    ["half a surrogate", { name: "\ud800" }, 400],
  ])("of sign-up: %s", async (_what, data, status) => {
    const answer = await auth("POST", "/signup", { body: { email: anEmail(), password, data } });
    expect(answer.status, answer.text).toBe(status);
  });

  it("of concurrent sign-ups of one address", async () => {
    const email = anEmail();
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => auth("POST", "/signup", { body: { email, password } })),
    );
    expect(answers.map((one) => one.status).toSorted()).toEqual([200, 422, 422, 422, 422, 422]);
  });

  it("of any field, path, method or grant", async () => {
    const { token, email, refresh } = await person();
    const value = fc.oneof(
      fc.constantFrom(...odd, email, refresh, "recovery", "signup", "email_change", "magiclink"),
      fc.jsonValue({ maxDepth: 3 }),
    );
    const fields = [
      "email",
      "password",
      "data",
      "token",
      "token_hash",
      "type",
      "refresh_token",
      "create_user",
      "scope",
      "phone",
      "options",
      "auth_code",
      "code_verifier",
      "__proto__",
    ];
    const body = fc.oneof(
      { weight: 4, arbitrary: fc.dictionary(fc.constantFrom(...fields), value, { maxKeys: 6 }) },
      { weight: 1, arbitrary: fc.jsonValue() },
    );
    const path = fc.constantFrom(
      "/signup",
      "/token?grant_type=password",
      "/token?grant_type=refresh_token",
      "/token?grant_type=pkce",
      "/token?grant_type=id_token",
      "/token",
      "/otp",
      "/magiclink",
      "/recover",
      "/resend",
      "/verify",
      "/user",
      "/logout",
      "/logout?scope=all",
      "/reauthenticate",
      "/settings",
      "/health",
      "/authorize?provider=github",
      "/authorize",
      "/callback",
      "/%73ignup",
      "/signup/",
      "/verify?type=signup&token=%00",
      "/verify?token=x&type=%ff",
      "/.well-known/jwks.json",
      "/factors",
      "/invite",
      "/admin/users",
      "/admin/users/x",
      "/admin/generate_link",
      "/sso",
      "/user?x=1",
      "//signup",
      "/authorize?provider=github&redirect_to=%00",
    );
    const rules = await dump`select * from auth_limits.rules`;
    await dump`delete from auth_limits.rules`;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("POST", "POST", "PUT", "GET", "DELETE"),
        path,
        body,
        async (method, to, sent) => {
          const answer = await auth(method, to, { token, ...(method !== "GET" && { body: sent }) });
          expect(answer.status, `${method} ${to} ${JSON.stringify(sent)} ${answer.text}`).toBeLessThan(500);
        },
      ),
      { numRuns: runs(250) },
    );
    await dump`insert into auth_limits.rules ${dump(rules)}`;
  });
});

describe("a dump of the database", () => {
  it("contains no refresh token, no code and no link", async () => {
    const { email, refresh } = await person();
    const { code, link } = await codeFor(email);
    const [{ all } = { all: "" }] = await dump<{ all: string }[]>`
      select (select string_agg(u::text, ' ') from auth.users u) || (select string_agg(t::text, ' ') from auth.refresh_tokens t) as all`;
    const hash = createHash("sha256").update(`${email}${code}`).digest("hex");
    expect(all).toContain("encrypted.");
    for (const secret of [refresh ?? "", hash, new URL(link).searchParams.get("token") ?? ""]) {
      expect(secret.length).toBeGreaterThan(20);
      expect(all.includes(secret)).toBe(false);
    }
  });

  it("contains nothing that refreshes a session or passes verification", async () => {
    const { email } = await person();
    await codeFor(email);
    const [row] = await dump`
      select t.token, u.recovery_token from auth.users u join auth.refresh_tokens t on t.user_id = u.id where u.email = ${email}`;
    const refreshed = await auth("POST", "/token?grant_type=refresh_token", { body: { refresh_token: row?.token } });
    expect(refreshed.status).toBe(400);
    const verified = await auth("POST", "/verify", { body: { token_hash: row?.recovery_token, type: "recovery" } });
    expect(verified.status).toBe(403);
  });

  it("allows one refresh and its repetition, and using an older token ends the session", async () => {
    const { refresh = "" } = await person();
    const renew = (token: string) =>
      auth("POST", "/token?grant_type=refresh_token", { body: { refresh_token: token } });
    const second = await renew(refresh);
    const repeated = await renew(refresh);
    expect([second.status, repeated.status]).toEqual([200, 200]);
    expect(repeated.body.refresh_token).toBe(second.body.refresh_token);
    const third = await renew(String(second.body.refresh_token));
    expect(errorOf(await renew(refresh))).toEqual([400, "refresh_token_already_used"]);
    expect((await renew(String(third.body.refresh_token))).status).toBe(400);
    const { access_token: token } = third.body as { access_token: string };
    expect((await own.sql`select from auth.sessions where id = ${String(decodeJwt(token).session_id)}`).length).toBe(0);
  });
});

describe("a session that is refreshed concurrently", () => {
  const renew = (token: string) => auth("POST", "/token?grant_type=refresh_token", { body: { refresh_token: token } });
  const refreshOf = (answer: Answer) => String(answer.body.refresh_token);
  const liveTokensOf = async (email: string) =>
    (
      await dump`
        select from auth.refresh_tokens t join auth.users u on u.id = t.user_id
        where u.email = ${email} and not t.revoked`
    ).length;

  it("stays one session: all requests get the same token, and no other is valid", async () => {
    const { email, refresh = "" } = await person();
    const answers = await Promise.all(Array.from({ length: 8 }, () => renew(refresh)));
    expect(count(answers, 200), answers[0]?.text).toBe(8);
    expect(new Set(answers.map(refreshOf)).size).toBe(1);
    expect(await liveTokensOf(email)).toBe(1);
  });

  it("ends when the last token and a stolen one are both used, in any order", async () => {
    const sessions = await Promise.all(Array.from({ length: 6 }, () => person()));
    for (const { email, refresh: stolen = "" } of sessions) {
      const last = refreshOf(await renew(refreshOf(await renew(stolen))));
      await Promise.all([renew(last), renew(stolen), renew(last), renew(stolen)]);
      expect(await liveTokensOf(email)).toBe(0);
    }
  });
});

it("mails are written to a file that only its owner can read", async () => {
  await codeFor((await person()).email);
  expect((await stat(mailPath())).mode & 0o777).toBe(0o600);
});

describe.each(["HS256", "ES256"])("an access token signed by %s", (alg) => {
  const signed = async (claims: object) => {
    const person = await own.person();
    const key = alg === "HS256" ? new TextEncoder().encode(own.jwtSecret) : (await signing).privateKey;
    const now = Math.floor(Date.now() / 1000);
    return new SignJWT({
      sub: person.id,
      role: "authenticated",
      aud: "authenticated",
      iss: tokenIssuer,
      exp: now + 600,
      ...claims,
    })
      .setProtectedHeader({ alg, ...(alg === "ES256" && { kid: "new" }) })
      .sign(key);
  };

  it.each([
    ["as it should be", {}, 200],
    ["for several audiences", { aud: ["other", "authenticated"] }, 200],
    ["for another audience", { aud: "anon" }, 401],
    ["for no audience", { aud: undefined }, 401],
    ["of another issuer", { iss: "https://other.supabase.co/auth/v1" }, 401],
    ["of an issuer that begins alike", { iss: `${tokenIssuer}/x` }, 401],
    ["of no issuer", { iss: undefined }, 401],
  ])("%s", async (_what, claims, status) => {
    const token = await signed(claims);
    expect((await own.call("GET", "/api/me/votes", { token })).status).toBe(status);
    expect((await own.call("GET", "/api/submissions", { token })).status).toBe(status);
    // The gateway verifies issuer and audience for the data API.
    const rest = await own.call("GET", "/rest/v1/organizations?select=id", {
      base: own.supabase_url,
      token,
      headers: { apikey: own.publishable_key },
    });
    expect(rest.status).toBe(alg === "HS256" ? status : 401);
    const toAgents = await own.call("POST", "/api/mcp", {
      token,
      body: { jsonrpc: "2.0", id: 1, method: "tools/list" },
    });
    expect(toAgents.status, "agents have keys").toBe(401);
  });
});

it("a token signed by the embedded stack contains issuer and audience, also after a refresh", async () => {
  const { token = "", refresh } = await person();
  const renewed = await auth("POST", "/token?grant_type=refresh_token", { body: { refresh_token: refresh } });
  for (const one of [token, String(renewed.body.access_token)])
    expect(decodeJwt(one)).toMatchObject({ iss: tokenIssuer, aud: "authenticated", session_id: expect.any(String) });
});
