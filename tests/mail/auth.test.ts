import { createHmac, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { decodeJwt } from "jose";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { messagesOf } from "../../functions/words/index.ts";
import { capturedMails } from "../../local/functions/mail-capture.ts";
import { locales } from "../../shared/locales.ts";
import { type OwnStack, startOwnStack } from "../own-stack.ts";
import { until } from "../until.ts";
import { addressChange, addressChanged, passwordChanged } from "./recorded.ts";
import { headerOf, type MailServer, startMailServer } from "./smtp.ts";

const password = "correct horse battery";
const someone = () => `${randomUUID()}@person.example`;
const secret = `whsec_${Buffer.from("0123456789abcdef0123456789abcdef").toString("base64")}`;

let server: MailServer;
let stack: OwnStack;

beforeAll(async () => {
  server = await startMailServer();
  stack = await startOwnStack({
    parts: ["auth", "mail-dispatch"],
    functionsEnvironment: {
      MAIL_URL: server.url,
      MAIL_FROM: "feedback@mail.example",
      AUTH_MAIL_SECRET: secret,
      SITE_URL: "https://feedback.example",
    },
  });
  // All requests of this file come from one address.
  await stack.sql`update private.rate_limit_rules set max_requests = 1000000
    where name in ('account_mail_hour', 'account_mail_day')`;
});
afterAll(async () => {
  await stack?.remove();
  await server?.stop();
});

/** Every user has a separate client address, because wrong passwords are limited by client. */
const clients = new Map<unknown, string>();
function clientOf(email: unknown): string {
  const known = clients.get(email) ?? `127.8.${clients.size >> 7}.${1 + (clients.size & 127)}`;
  clients.set(email, known);
  return known;
}

async function auth(path: string, body: object, token?: string, method = "POST") {
  const answer = await stack.call(method, `/auth/v1${path}`, {
    base: stack.supabase_url,
    from: clientOf("email" in body ? body.email : undefined),
    headers: { apikey: stack.publishable_key },
    body,
    token,
  });
  return { status: answer.status, body: answer.body as Record<string, unknown> };
}
const signUp = (email: string, secretWord = password, locale = "en") =>
  auth("/signup", { email, password: secretWord, data: { name: "Ada", locale } });
const signIn = (email: string, secretWord = password) =>
  auth("/token?grant_type=password", { email, password: secretWord });
const isConfirmed = async (email: string) =>
  (await stack.sql`select email_confirmed_at is not null as yes from auth.users where email = ${email}`)[0]?.yes;

const logged = async (line: RegExp) => line.test(await readFile(join(stack.folder, "mail-dispatch.log"), "utf8"));

/** The nth mail that somebody received. */
async function mailTo(email: string, place = 0) {
  const mail = await until(() => server.to(email)[place]);
  const text = mail.text ?? "";
  const link = new URL(/https?:\S+/.exec(text)?.[0] ?? "none:");
  return {
    mail,
    code: /^(\d{6})$/m.exec(text)?.[1] ?? "",
    token_hash: link.searchParams.get("token_hash") ?? "",
    type: link.searchParams.get("type") ?? "",
    link,
  };
}

// Most requests take at least a quarter of a second, even with little work.
describe.concurrent("where mail is sent, an account begins with a confirmed address", () => {
  test("a sign-up gets no session, and a mail in its language with a code and a link to the page that asks", async () => {
    const email = someone();
    const made = await signUp(email, password, "de");
    expect(made.status).toBe(200);
    expect(made.body).not.toHaveProperty("access_token");
    const { mail, token_hash, type, code, link } = await mailTo(email);
    expect(mail.subject).toBe("Bestätigen Sie Ihre Adresse");
    expect(link.origin + link.pathname).toBe("https://feedback.example/auth/confirm");
    expect(code).not.toBe("");
    expect(headerOf(mail, "Auto-Submitted")).toBe("auto-generated");
    expect(await isConfirmed(email)).toBe(false);
    expect((await signIn(email)).body).toMatchObject({ error_code: "email_not_confirmed" });
    expect((await signIn(email, "not the password")).body).toMatchObject({ error_code: "invalid_credentials" });
    const confirmed = await auth("/verify", { token_hash, type });
    expect(confirmed.body).toHaveProperty("access_token");
    expect(await isConfirmed(email)).toBe(true);
    expect((await auth("/verify", { token_hash, type })).status).toBe(403);
    expect((await signIn(email)).status).toBe(200);
  });

  test("the code of the mail confirms too", async () => {
    const email = someone();
    await signUp(email);
    const { code } = await mailTo(email);
    const wrong = code === "000000" ? "000001" : "000000";
    expect((await auth("/verify", { email, token: wrong, type: "email" })).status).toBe(403);
    expect((await auth("/verify", { email, token: code, type: "email" })).body).toHaveProperty("access_token");
  });

  test("a sign-up with the address of somebody else looks like any other, and mails its owner", async () => {
    const email = someone();
    const first = await signUp(email);
    const { token_hash, type } = await mailTo(email);
    await auth("/verify", { token_hash, type });
    const again = await signUp(email, "another password");
    expect(again.status).toBe(first.status);
    expect(shapeOf(again.body)).toEqual(shapeOf(first.body));
    expect(again.body.id).not.toBe(first.body.id);
    expect(versionOf(again.body.id)).toBe(versionOf(first.body.id));
    expect(JSON.stringify(again.body)).not.toContain("rehearsal");
    expect(await stack.sql`select from auth.users where email like '%rehearsal%'`).toHaveLength(0);
    expect((await mailTo(email, 1)).mail.subject).toBe("Your sign-in code");
    expect((await signIn(email, "another password")).status).toBe(400);
    expect((await signIn(email)).status).toBe(200);
  });

  test("a repeated sign-up voids the link of the earlier one", async () => {
    const email = someone();
    await signUp(email, "of somebody else");
    const earlier = await mailTo(email);
    await signUp(email);
    const { mail, code } = await mailTo(email, 1);
    expect(mail.subject).toBe(earlier.mail.subject);
    expect((await auth("/verify", { token_hash: earlier.token_hash, type: earlier.type })).status).toBe(403);
    expect((await auth("/verify", { email, token: code, type: "email" })).status).toBe(200);
  });

  test("of too much metadata only the name is kept, and an address with an account gets the same answer", async () => {
    const [email, known] = [someone(), someone()];
    await signUp(known);
    const ask = (address: string) =>
      auth("/signup", { email: address, password, data: { name: "Ada", note: "x".repeat(9_000) } });
    const shapeOf = ({ status, body }: Awaited<ReturnType<typeof ask>>) => [status, Object.keys(body).sort()];
    expect(shapeOf(await ask(email))).toEqual(shapeOf(await ask(known)));
    const [kept] =
      await stack.sql`select raw_user_meta_data - array['sub', 'email', 'email_verified', 'phone_verified'] as data
      from auth.users where email = ${email}`;
    expect(kept).toEqual({ data: { name: "Ada" } });
  });

  test("asking for a code for an address makes no confirmed account", async () => {
    const email = someone();
    await auth("/otp", { email, create_user: true });
    const { code } = await mailTo(email);
    expect(await isConfirmed(email)).toBe(false);
    await auth("/verify", { email, token: code, type: "email" });
    expect(await isConfirmed(email)).toBe(true);
  });

  describe("a change of address is confirmed by both addresses", () => {
    async function change() {
      const [email, next] = [someone(), someone()];
      await signUp(email);
      const { token_hash, type } = await mailTo(email);
      const token = String((await auth("/verify", { token_hash, type })).body.access_token);
      expect((await auth("/user", { email: next }, token, "PUT")).status).toBe(200);
      return { email, next, token, mails: [await mailTo(email, 1), await mailTo(next)] as const };
    }
    const linked = { code: "200", msg: expect.stringMatching(/^Confirmation link accepted\./) };

    test.each([
      ["links, the present address first", [0, 1], false],
      ["links, the new address first", [1, 0], false],
      ["codes, the present address first", [0, 1], true],
      ["codes, the new address first", [1, 0], true],
    ] as const)("%s", async (_, order, byCode) => {
      const { email, next, mails } = await change();
      const use = (which: 0 | 1) => {
        const { code: token, token_hash, type } = mails[which];
        expect(type).toBe("email_change");
        return auth("/verify", byCode ? { email: [email, next][which], token, type } : { token_hash, type });
      };
      expect(await use(order[0])).toEqual({ status: 200, body: linked });
      expect((await use(order[0])).status, "twice").toBe(403);
      expect((await signIn(next)).status).toBe(400);
      expect((await use(order[1])).body).toMatchObject({ user: { email: next } });
      expect([(await signIn(email)).status, (await signIn(next)).status]).toEqual([400, 200]);
    });

    test("both halves at once make one change", async () => {
      const { next, mails } = await change();
      const halves = mails.map(({ token_hash, type }) => auth("/verify", { token_hash, type }));
      const answers = (await Promise.all(halves)).map(({ body }) => "access_token" in body);
      expect(answers.toSorted()).toEqual([false, true]);
      expect((await signIn(next)).status).toBe(200);
    });

    test("a newer change voids the halves of an earlier one", async () => {
      const { next, token, mails } = await change();
      const half = ({ token_hash, type }: { token_hash: string; type: string }) =>
        auth("/verify", { token_hash, type });
      await half(mails[0]);
      const other = someone();
      await auth("/user", { email: other }, token, "PUT");
      expect((await half(mails[1])).status).toBe(403);
      expect(await half(await mailTo(other))).toEqual({ status: 200, body: linked });
      expect([(await signIn(next)).status, (await signIn(other)).status]).toEqual([400, 400]);
    });

    test("the code of one address is not valid for the other", async () => {
      const { email, mails } = await change();
      const answer = await auth("/verify", { email, token: mails[1].code, type: "email_change" });
      expect(answer).toMatchObject({ status: 403, body: { msg: "Token has expired or is invalid" } });
    });

    test("a new password voids it", async () => {
      const { token, mails } = await change();
      expect((await auth("/user", { password: "another password" }, token, "PUT")).status).toBe(200);
      for (const { token_hash, type } of mails) expect((await auth("/verify", { token_hash, type })).status).toBe(403);
    });

    test("is asked again for both addresses", async () => {
      const { email, next } = await change();
      expect((await auth("/resend", { email, type: "email_change" })).status).toBe(200);
      expect((await mailTo(email, 2)).type).toBe("email_change");
      expect((await mailTo(next, 1)).type).toBe("email_change");
    });
  });

  test("a forgotten password is reset by mail; an address without an account gets none", async () => {
    const email = someone();
    await signUp(email);
    const { token_hash, type } = await mailTo(email);
    await auth("/verify", { token_hash, type });
    const stranger = someone();
    expect(await auth("/recover", { email: stranger })).toEqual(await auth("/recover", { email }));
    expect((await mailTo(email, 1)).type).toBe("recovery");
    expect(server.to(stranger)).toEqual([]);
  });

  test("a mail that the server defers is sent again", async () => {
    const email = someone();
    let refused = 0;
    server.behave = (address, stage) =>
      address === email && stage === "rcpt" && refused++ === 0 ? { code: 451 } : "take";
    await signUp(email);
    await mailTo(email);
    expect(refused).toBe(2);
    server.behave = () => "take";
  });

  test("an address gets ten mails an hour, whoever asks for them", async () => {
    const [email, victim] = [someone(), someone()];
    await signUp(email);
    const { token_hash, type } = await mailTo(email);
    const token = String((await auth("/verify", { token_hash, type })).body.access_token);
    for (let n = 0; n < 11; n++) expect((await auth("/user", { email: victim }, token, "PUT")).status).toBe(200);
    const last = someone();
    await auth("/user", { email: last }, token, "PUT");
    await mailTo(last);
    await until(() => server.to(victim).length >= 10);
    expect(server.to(victim)).toHaveLength(10);
  });

  test("neither codes nor addresses are in a file", async () => {
    await expect(import("node:fs/promises").then(({ stat }) => stat(stack.mailPath))).rejects.toThrow("ENOENT");
  });
});

describe("a request for an unconfirmed account", () => {
  const invite = (email: string) =>
    stack.call("POST", "/auth/v1/invite", {
      base: stack.supabase_url,
      headers: { apikey: stack.secret_key },
      body: { email },
    });
  const requests: [string, (email: string) => Promise<{ status: number }>][] = [
    ["a sign-up", (email) => signUp(email, "of the owner")],
    ["a code", (email) => auth("/otp", { email })],
    ["a link", (email) => auth("/magiclink", { email })],
    ["a reset", (email) => auth("/recover", { email })],
    ["the mail again", (email) => auth("/resend", { email, type: "signup" })],
    ["an invitation", invite],
  ];
  // Triggers can rely on the same statements as with hosted auth: this one counts codes, and removes what was set
  // before the confirmation.
  const trigger = `
    create table public.requests_of_test (user_id uuid primary key, count integer not null);
    create function public.count_request_of_test() returns trigger language plpgsql security definer as $$ begin
      if old.email_confirmed_at is null and new.email_confirmed_at is null
        and (new.confirmation_token <> coalesce(old.confirmation_token, '') or new.recovery_token <> coalesce(old.recovery_token, ''))
      then
        insert into public.requests_of_test as r values (new.id, 1)
        on conflict (user_id) do update set count = r.count + 1;
      elsif old.email_confirmed_at is null and new.email_confirmed_at is not null
        and (select r.count from public.requests_of_test r where r.user_id = new.id) > 1
      then
        new.encrypted_password := '';
        new.raw_user_meta_data := '{}';
      end if;
      return new;
    end $$;
    create trigger zz_count_request_of_test before update on auth.users
      for each row execute function public.count_request_of_test();`;
  let superuser: postgres.Sql;
  beforeAll(async () => {
    superuser = postgres(stack.superuserUrl, { max: 1, onnotice: () => undefined });
    await superuser.unsafe(trigger);
  });
  afterAll(async () => {
    await superuser.unsafe("drop function public.count_request_of_test cascade; drop table public.requests_of_test");
    await superuser.end();
  });
  const countOf = async (email: string) =>
    (
      await superuser`select r.count from public.requests_of_test r join auth.users u on u.id = r.user_id where u.email = ${email}`
    )[0]?.count;

  test("alone: a sign-up counts once, and its password stays", async () => {
    const email = someone();
    await signUp(email);
    expect(await countOf(email)).toBe(1);
    const { token_hash, type } = await mailTo(email);
    expect((await auth("/verify", { token_hash, type })).status).toBe(200);
    expect((await signIn(email)).status).toBe(200);
    expect(await countOf(email), "the confirmation is no request").toBe(1);
  });

  test.concurrent.each(
    requests.flatMap(([way, ask]) => (["link", "code"] as const).map((by) => [way, by, ask] as const)),
  )(
    "for %s after somebody else's sign-up counts, confirmed by the %s; what was dropped stays away",
    async (_, by, ask) => {
      const email = someone();
      await signUp(email, "of somebody else");
      await mailTo(email);
      expect((await ask(email)).status).toBe(200);
      const { token_hash, code: token, type } = await mailTo(email, 1);
      expect(await countOf(email)).toBe(2);
      const { body } = await auth("/verify", by === "link" ? { token_hash, type } : { email, token, type });
      const { user_metadata } = decodeJwt(String(body.access_token));
      expect(user_metadata).not.toHaveProperty("name");
      const refreshed = await auth("/token?grant_type=refresh_token", { refresh_token: body.refresh_token });
      expect(refreshed.body).toMatchObject({ user: { email, user_metadata } });
      expect((await signIn(email, "of somebody else")).status).toBe(400);
      expect((await signIn(email, "of the owner")).status).toBe(400);
      const chosen = await auth("/user", { password }, String(body.access_token), "PUT");
      expect([chosen.status, (await signIn(email)).status]).toEqual([200, 200]);
    },
  );

  test("by an admin that confirms the address keeps what the admin sets", async () => {
    const email = someone();
    await signUp(email, "of somebody else");
    await auth("/otp", { email });
    const [user] = await stack.sql`select id from auth.users where email = ${email}`;
    const confirmed = await stack.call("PUT", `/auth/v1/admin/users/${user?.id}`, {
      base: stack.supabase_url,
      headers: { apikey: stack.secret_key },
      body: { email_confirm: true, password, user_metadata: { name: "Grace" } },
    });
    expect(confirmed.body).toMatchObject({ user_metadata: { name: "Grace", email_verified: true } });
    expect([(await signIn(email, "of somebody else")).status, (await signIn(email)).status]).toEqual([400, 200]);
  });
});

test("mails are in the language that the account has now", async () => {
  const email = someone();
  await signUp(email, password, "de");
  const { token_hash, type } = await mailTo(email);
  await auth("/verify", { token_hash, type });
  await stack.sql`update public.profiles set locale = 'fr' where email = ${email}`;
  await auth("/recover", { email });
  expect((await mailTo(email, 1)).mail.subject).toBe("Réinitialisez votre mot de passe");
});

describe("auth's Send Email hook", () => {
  const email_data = { email_action_type: "recovery", token: "305805", token_hash: "pkce_abc", redirect_to: "" };
  const send = (body: object | string, change: Record<string, string> = {}, key = secret, at = Date.now()) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const [id, timestamp] = ["msg_1", String(Math.floor(at / 1000))];
    const mac = createHmac("sha256", Buffer.from(key.slice(6), "base64")).update(`${id}.${timestamp}.${text}`);
    const headers = {
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,${mac.digest("base64")}`,
      ...change,
    };
    return stack.call("POST", "/functions/v1/auth-mail", { base: stack.supabase_url, headers, body: text });
  };

  test("sends what hosted auth asks for, in the user's language", async () => {
    const email = someone();
    const user = { email, user_metadata: { locale: "fr" } };
    const redirect_to = "https://feedback.example/auth/callback?return_to=%2Fme";
    expect((await send({ user, email_data: { ...email_data, redirect_to } })).status).toBe(200);
    const { mail, code, link } = await mailTo(email);
    expect(mail.subject).toBe("Réinitialisez votre mot de passe");
    expect(code).toBe("305805");
    expect(link.href).toBe("https://feedback.example/auth/confirm?token_hash=pkce_abc&type=recovery&return_to=%2Fme");
  });

  test("leads to auth's own link where another site asked", async () => {
    const email = someone();
    await send({ user: { email }, email_data: { ...email_data, redirect_to: "https://app.example/home" } });
    const { link } = await mailTo(email);
    expect(link.pathname).toBe("/auth/v1/verify");
    expect(link.searchParams.get("redirect_to")).toBe("https://app.example/home");
  });

  test.each([
    ["another secret", {}, `whsec_${Buffer.from("another").toString("base64")}`, 0],
    ["no signature", { "webhook-signature": "" }, secret, 0],
    ["a time long ago", {}, secret, 600_000],
    ["another message", { "webhook-id": "msg_2" }, secret, 0],
  ])("refuses %s", async (_, change, key, ago) => {
    const email = someone();
    const answer = await send({ user: { email }, email_data }, change, key, Date.now() - ago);
    expect(answer.status).toBe(401);
    expect(server.to(email)).toEqual([]);
  });

  test("an address cannot add a header or a recipient", async () => {
    const email = "a@person.example>\r\nBcc: eve@evil.example";
    expect((await send({ user: { email }, email_data })).status).toBe(400);
    expect(server.arrived.some(({ raw }) => /^Bcc:/im.test(raw))).toBe(false);
    expect(server.to("eve@evil.example")).toEqual([]);
  });

  test("a body of another form is a 400", async () => {
    expect((await send({ hello: 1 })).status).toBe(400);
    expect((await send("no json")).status).toBe(400);
  });

  const kinds = {
    code: ["signup", "magiclink", "recovery", "email_change_new", "email_change_current", "invite", "reauthentication"],
    notice: [
      "password_changed_notification",
      "email_changed_notification",
      "phone_changed_notification",
      "identity_linked_notification",
      "identity_unlinked_notification",
      "mfa_factor_enrolled_notification",
      "mfa_factor_unenrolled_notification",
    ],
  };

  test.each(locales)("each kind of mail has its own subject and text in %s", async (locale) => {
    const all = [...kinds.code, ...kinds.notice];
    const [email, new_email] = [someone(), someone()];
    const user = { email, new_email, user_metadata: { locale } };
    for (const email_action_type of all)
      expect((await send({ user, email_data: { ...addressChange, old_email: email, email_action_type } })).status).toBe(
        200,
      );
    const mails = await until(() => {
      const arrived = [...server.to(email), ...server.to(new_email)];
      return arrived.length === all.length && arrived;
    });
    expect(new Set(mails.map(({ subject }) => subject)).size).toBe(all.length);
    expect(new Set(mails.map(({ html }) => /<h1>.*?<p>(.*?)<\/p>/s.exec(html ?? "")?.[1])).size).toBe(all.length);
    for (const { html } of mails) expect(html).toContain(`<html lang="${locale}">`);
    expect(server.to(new_email).map(({ subject }) => subject)).toEqual([
      messagesOf(locale).authMail.email_change.subject,
    ]);
    const codes = mails.flatMap(({ text }) => /^\d{6}$/m.exec(text ?? "")?.[0] ?? []);
    expect(codes).toHaveLength(kinds.code.length);
  });

  test("a notice has no code, and leads to a new password only", async () => {
    const email = someone();
    const told = structuredClone(passwordChanged);
    await send({ ...told, user: { ...told.user, email } });
    const { mail, code, link } = await mailTo(email);
    expect(mail.subject).toBe("Your password was changed");
    expect(code).toBe("");
    expect(link.href).toBe("https://feedback.example/reset");
    expect(mail.text).not.toContain("/auth/");
  });

  test("the notice of a changed address goes to the former one, and names the new one", async () => {
    const [old_email, email] = [someone(), someone()];
    await send({ user: { email }, email_data: { ...addressChanged, old_email } });
    const { mail } = await mailTo(old_email);
    expect(mail.text).toContain(email);
    expect(server.to(email)).toEqual([]);
  });

  test("tells each address of a change its own code, and the present one what happens", async () => {
    const [email, new_email] = [someone(), someone()];
    await send({ user: { email, new_email }, email_data: { ...addressChange, redirect_to: "" } });
    expect(await mailTo(email)).toMatchObject({ code: addressChange.token, token_hash: addressChange.token_hash_new });
    expect((await mailTo(email)).mail.text).toContain(new_email);
    expect((await mailTo(email)).mail.text).toContain("https://feedback.example/reset");
    expect(await mailTo(new_email)).toMatchObject({
      code: addressChange.token_new,
      token_hash: addressChange.token_hash,
    });
    expect((await mailTo(new_email)).mail.text).not.toContain(email);
  });

  test.each([
    ["identity_linked_notification", { provider: "github" }, "GitHub"],
    ["identity_unlinked_notification", { provider: "azure" }, "azure"],
    ["mfa_factor_enrolled_notification", { factor_type: "totp" }, "Authenticator app"],
    ["mfa_factor_unenrolled_notification", { factor_type: "webauthn" }, "Passkey"],
  ])("%s says which", async (email_action_type, which, told) => {
    const email = someone();
    await send({ user: { email }, email_data: { ...addressChanged, email_action_type, ...which } });
    expect((await mailTo(email)).mail.text).toContain(`\n${told}\n`);
  });

  test("an unknown kind with a code is an error, and one without is not", async () => {
    const email = someone();
    const email_action_type = "something_new";
    expect((await send({ user: { email }, email_data: { ...email_data, email_action_type } })).status).toBe(400);
    const told = { email_action_type, token: "", token_hash: "" };
    expect((await send({ user: { email }, email_data: told })).status).toBe(200);
    expect((await send({ user: { email: "" }, email_data })).status).toBe(400);
    expect(server.to(email)).toEqual([]);
    expect(await until(() => logged(/no mail or no address for \\"something_new\\"/))).toBeTruthy();
  });

  test.each([
    ["a redirect of 3,000 characters", {}, { redirect_to: `https://app.example/?${"a".repeat(3000)}` }],
    ["a redirect that is no text", {}, { redirect_to: 5 }],
    ["metadata that is a list", { user_metadata: ["fr"] }, {}],
    ["no metadata", { user_metadata: null }, {}],
    ["a locale that is an object", { user_metadata: { locale: { fr: 1 } } }, {}],
    ["another address without a form", { new_email: "a b", phone: 7, identities: "none" }, { old_email: "<>" }],
    ["codes that are null", {}, { token_new: null, token_hash_new: null, provider: {}, factor_type: "x y" }],
  ])("%s does not keep a mail from its recipient", async (_, ofUser, ofData) => {
    const email = someone();
    const body = { user: { email, ...ofUser }, email_data: { ...email_data, ...ofData } };
    expect((await send(body)).status).toBe(200);
    expect((await mailTo(email)).link.href).toBe(
      "https://feedback.example/auth/confirm?token_hash=pkce_abc&type=recovery",
    );
  });

  test("a call that auth repeats is one mail", async () => {
    const email = someone();
    const body = { metadata: { uuid: randomUUID() }, user: { email }, email_data };
    for (let n = 0; n < 3; n++) expect((await send(body)).status).toBe(200);
    await send({ ...body, metadata: { uuid: randomUUID() } });
    await mailTo(email, 1);
    await send({ ...body, user: { email, user_metadata: { locale: "it" } } });
    await mailTo(email, 2);
    expect(server.to(email)).toHaveLength(3);
  });

  describe("answers before it sends", () => {
    afterEach(() => {
      server.behave = () => "take";
    });

    test("a mail server that says nothing delays nobody", async () => {
      const email = someone();
      server.behave = (address, stage) => (address === email && stage === "rcpt" ? "hang" : "take");
      expect((await send({ user: { email }, email_data })).status).toBe(200);
    });

    test("a mail that is refused looks as if it were sent, is tried once, and is in the log without its address", async () => {
      const email = someone();
      let tries = 0;
      server.behave = (address) => {
        if (address !== email) return "take";
        tries++;
        return { code: 550 };
      };
      const answer = await send({ user: { email }, email_data });
      expect(answer).toMatchObject({ status: 200, body: {} });
      await until(() => logged(/auth-mail: RCPT TO was answered 550. The mail was not sent./));
      expect(tries).toBe(1);
      expect(await logged(new RegExp(email))).toBe(false);
    });

    test("a mail that waits for the mail server is dropped for one with a newer code", async () => {
      const email = someone();
      let tries = 0;
      server.behave = (address, stage) =>
        address === email && stage === "rcpt" && tries++ < 2 ? { code: 451 } : "take";
      await send({ user: { email }, email_data: { ...email_data, token: "111111" } });
      await until(() => tries === 1);
      await send({ user: { email }, email_data: { ...email_data, token: "222222" } });
      expect((await mailTo(email)).code).toBe("222222");
      expect(server.to(email)).toHaveLength(1);
    });
  });
});

test("where none is sent, sign-ups are confirmed at once and mails are captured", async () => {
  const own = await startOwnStack({ parts: ["auth", "mail-dispatch"] });
  try {
    const email = someone();
    const call = (path: string, body: object) =>
      own.call("POST", `/auth/v1${path}`, { base: own.supabase_url, headers: { apikey: own.publishable_key }, body });
    expect((await call("/signup", { email, password })).body).toHaveProperty("access_token");
    await call("/recover", { email });
    const captured = await until(async () => (await capturedMails(`${own.folder}/mail`))[0]);
    expect(captured).toMatchObject({ to: [email], subject: "Reset your password" });
  } finally {
    await own.remove();
  }
});

const versionOf = (id: unknown) => String(id)[14];

/** Names and types of all properties. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]));
}
