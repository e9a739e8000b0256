import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "node-html-parser";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { messagesOf } from "../../functions/words/index.ts";
import { createAccount } from "../../local/operator/create-account.ts";
import { type OwnStack, startOwnStack } from "../own-stack.ts";
import { until } from "../until.ts";
import { headerOf, type MailServer, startMailServer } from "./smtp.ts";

const password = "correct horse battery";
const someone = (host = "person.example") => `${randomUUID()}@${host}`;
const { account, mail: mailTexts } = messagesOf("en");

let server: MailServer;
let stack: OwnStack;

beforeAll(async () => {
  server = await startMailServer();
  stack = await startOwnStack({
    parts: ["auth", "web", "mail-dispatch"],
    functionsEnvironment: { MAIL_URL: server.url, MAIL_FROM: "feedback@mail.example" },
  });
});
afterAll(async () => {
  await stack?.remove();
  await server?.stop();
});
/** Each test acts as a client of its own. Only some tests lower the limits for the whole installation. */
let from = "";
let hosts = 1;
beforeEach(async () => {
  from = `127.7.0.${++hosts}`;
  await allow("account_mail_everyone", 1_000_000);
  await allow("account_mail_hour", 1_000);
});
const allow = (rule: string, max: number) =>
  stack.sql`update private.rate_limit_rules set max_requests = ${max} where name = ${rule}`;

async function auth(path: string, body: object, token?: string, method = "POST") {
  const headers = { apikey: stack.publishable_key };
  const answer = await stack.call(method, `/auth/v1${path}`, { base: stack.supabase_url, headers, body, token, from });
  return { status: answer.status, body: answer.body as Record<string, unknown> };
}
const signUp = (email: string) => auth("/signup", { email, password, data: {} });
const signIn = (email: string, word = password) => auth("/token?grant_type=password", { email, password: word });
const askForCode = (email: string) => auth("/otp", { email, create_user: false });

const linkIn = (text: string, path: string) =>
  new URL(new RegExp(`https?://\\S+${path}\\S*`).exec(text)?.[0] ?? "none:");
async function mailTo(email: string, place = 0) {
  const mail = await until(() => server.to(email)[place]);
  const link = linkIn(mail.text ?? "", "/auth/confirm");
  return { mail, token_hash: link.searchParams.get("token_hash"), type: link.searchParams.get("type") };
}
async function confirmed(email = someone()) {
  await signUp(email);
  const { token_hash, type } = await mailTo(email);
  const { body } = await auth("/verify", { token_hash, type });
  return { email, token: String(body.access_token) };
}
/** Waits for all mails sent so far: once this last one has arrived, the earlier ones have too. */
async function afterAllMails() {
  const client = from;
  from = "127.7.1.1";
  const last = someone();
  await signUp(last);
  await mailTo(last);
  from = client;
}

async function page(url: URL, form?: Record<string, string>, method = form ? "POST" : "GET") {
  const response = await fetch(`${stack.supabase_url}${url.pathname}${url.search}`, {
    method,
    redirect: "manual",
    headers: form ? { Origin: stack.supabase_url } : {},
    ...(form && { body: new URLSearchParams(form) }),
  });
  return {
    status: response.status,
    referrerPolicy: response.headers.get("referrer-policy"),
    location: response.headers.get("location"),
    html: parse(await response.text()),
  };
}

describe("mails to addresses without an account are bounded", () => {
  test("for all addresses of a mailbox together; the owner of an account still signs in", async () => {
    const mailbox = randomUUID();
    const owner = await confirmed(`${mailbox}@person.example`);
    // One mail from each client: the limit for the mailbox applies, not the one for clients.
    for (let n = 0; n < 12; n++) {
      from = `127.7.2.${n + 1}`;
      await signUp(`${mailbox}+${n}@person.example`);
    }
    await askForCode(owner.email);
    expect((await mailTo(owner.email, 1)).mail.subject).toBe("Your sign-in code");
    expect(Array.from({ length: 12 }, (_, n) => server.to(`${mailbox}+${n}@person.example`)).flat()).toHaveLength(9);
  });

  test("for a mailbox by whatever form of its address: one that programs read in several ways is none", async () => {
    const box = randomUUID();
    const { token } = await confirmed();
    const forms = [
      `(c)${box}@person.example`,
      `${box}@person.example(c)`,
      `g:${box}@person.example`,
      `${box}\u200b@person.example`,
      `${box}\ufe0f@person.example`,
      `${box}@per\u00adson.example`,
      `${box}@ｐerson.example`,
      `${box}@𝐩erson.example`,
      `${box}@person。example`,
      `"${box}"@person.example`,
    ];
    const given = (await auth("/recover", { email: forms[0] })).body;
    expect(given).toMatchObject({ code: 400, error_code: "validation_failed" });
    for (const email of forms) {
      const calls = [
        signUp(email),
        auth("/otp", { email }),
        auth("/magiclink", { email }),
        auth("/recover", { email }),
        auth("/resend", { email, type: "signup" }),
        auth("/user", { email }, token, "PUT"),
      ];
      expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(Array(6).fill(400));
    }
  });

  test("for an account by client, so that one client keeps nobody from signing in", async () => {
    const { email } = await confirmed();
    const subject = "account_mail_mailbox";
    await allow(subject, 2);
    from = "127.7.4.1";
    for (let n = 0; n < 3; n++) await signUp(email);
    from = "127.7.4.2";
    await askForCode(email);
    await afterAllMails();
    await allow(subject, 10);
    expect(server.to(email)).toHaveLength(1 + 2 + 1);
  });

  test("for a client, over all ways of asking; others and accounts get theirs", async () => {
    const known = await confirmed();
    await allow("account_mail_hour", 4);
    const strangers = Array.from({ length: 6 }, () => someone());
    const answers = [];
    for (const email of strangers.slice(0, 3)) answers.push((await signUp(email)).status);
    for (const email of strangers.slice(3)) answers.push((await auth("/otp", { email })).status);
    expect(answers).toEqual(Array(6).fill(200));
    await askForCode(known.email);
    expect((await mailTo(known.email, 1)).mail.subject).toBe("Your sign-in code");
    expect(strangers.flatMap((email) => server.to(email))).toHaveLength(3);
    from = "127.7.3.1";
    const other = someone();
    await signUp(other);
    await mailTo(other);
  });

  test("for all clients together, and the log says so once before the last one", async () => {
    await stack.sql`delete from private.rate_counters where rule = 'account_mail_everyone'`;
    await allow("account_mail_everyone", 5);
    const strangers = Array.from({ length: 7 }, () => someone());
    for (const email of strangers) await signUp(email);
    const known = (await stack.sql`select email from auth.users where email_confirmed_at is not null limit 1`)[0];
    const before = server.to(String(known?.email)).length;
    await askForCode(String(known?.email));
    await until(() => server.to(String(known?.email)).length > before);
    expect(strangers.flatMap((email) => server.to(email))).toHaveLength(5);
    const log = await readFile(join(stack.folder, "mail-dispatch.log"), "utf8");
    expect(log.match(/auth-mail: 80 % of the mails/g)).toHaveLength(1);
  });
});

describe("the link 'This wasn’t me'", () => {
  test("changes nothing when it is opened, and stops such mails and deletes the account when its button is pressed", async () => {
    const email = someone();
    await signUp(email);
    const { mail } = await mailTo(email);
    const stop = linkIn(mail.text ?? "", "/unsubscribe/accounts");
    expect(headerOf(mail, "List-Unsubscribe")).toBe(`<${stop.href}>`);
    expect(headerOf(mail, "List-Unsubscribe-Post")).toBe("List-Unsubscribe=One-Click");
    const users = () => stack.sql`select from auth.users where email = ${email}`;
    for (const method of ["GET", "HEAD"]) expect((await page(stop, undefined, method)).status).toBe(200);
    expect(await users()).toHaveLength(1);

    const pressed = await page(stop, { "List-Unsubscribe": "One-Click" });
    expect(pressed.html.querySelector("[role=status]")?.text).toBe(mailTexts.accountsStopped);
    expect(await users()).toHaveLength(0);
    expect((await signUp(email)).status).toBe(200);
    await afterAllMails();
    expect(server.to(email)).toHaveLength(1);

    await page(stop, { "List-Unsubscribe": "One-Click", stopped: "false" });
    await askForCode(email);
    await auth("/resend", { email, type: "signup" });
    await mailTo(email, 1);
  });

  test("keeps nobody from signing in: an account gets its mail, without the link", async () => {
    const { email } = await confirmed();
    const stop = linkIn((await mailTo(email)).mail.text ?? "", "/unsubscribe/accounts");
    await page(stop, { "List-Unsubscribe": "One-Click" });
    await askForCode(email);
    const { mail } = await mailTo(email, 1);
    expect(mail.text).not.toContain("/unsubscribe/");
    expect(headerOf(mail, "List-Unsubscribe")).toBeUndefined();
    expect((await signIn(email)).status).toBe(200);
  });

  test("is not valid if it is forged", async () => {
    const forged = new URL("/unsubscribe/accounts?token=a.b.c", stack.supabase_url);
    expect((await page(forged)).status).toBe(404);
    expect((await page(forged, { "List-Unsubscribe": "One-Click" })).status).toBe(404);
  });
});

describe("the owner of an address hears of a change, and undoes it", () => {
  const undoIn = (text: string | undefined) => linkIn(text ?? "", "/auth/undo");
  const press = (link: URL) =>
    page(new URL("/auth/undo", stack.supabase_url), { token: link.searchParams.get("token") ?? "" });

  /** Moves the account to another address, with a session that somebody else holds and confirmations by both mails. */
  async function moved(token: string, email: string, to: string) {
    const before = server.to(email).length;
    await auth("/user", { email: to }, token, "PUT");
    for (const address of [email, to]) {
      const isOfChange = ({ text = "" }) => text.includes("type=email_change");
      const mail = await until(() =>
        server
          .to(address)
          .slice(address === email ? before : 0)
          .find(isOfChange),
      );
      const link = linkIn(mail.text ?? "", "/auth/confirm");
      await auth("/verify", { token_hash: link.searchParams.get("token_hash"), type: "email_change" });
    }
    return until(() => server.to(email).find(({ subject }) => subject === "Your email address was changed"));
  }

  test("of the address: by a button, once, with all sessions and the password", async () => {
    const { email, token } = await confirmed();
    const thief = someone("evil.example");
    const undo = undoIn((await moved(token, email, thief)).text);
    expect((await signIn(thief)).status).toBe(200);
    const shown = await page(undo);
    expect(shown.html.querySelector("main")?.text).toContain(account.undoText(email));
    expect((await signIn(thief)).status, "opening it changes nothing").toBe(200);
    expect(shown.referrerPolicy, "a browser tells the form's origin").not.toBe("no-referrer");

    expect((await press(undo)).location).toBe("/auth/done?what=undone");
    expect([(await signIn(thief)).status, (await signIn(email)).status]).toEqual([400, 400]);
    expect(
      await stack.sql`select from auth.sessions s join auth.users u on u.id = s.user_id
      where u.email = ${email}`,
    ).toHaveLength(0);
    const again = await press(undo);
    expect([again.status, again.html.querySelector("[role=alert], main")?.text]).toEqual([
      422,
      expect.stringContaining(account.undoGone),
    ]);
    await auth("/recover", { email });
    const reset = await until(() => server.to(email).findLast(({ subject }) => subject === "Reset your password"));
    expect(linkIn(reset.text ?? "", "/auth/confirm").searchParams.get("type")).toBe("recovery");
  });

  test("after a second change too; the thief's link does not undo that", async () => {
    const { email, token } = await confirmed();
    const [first, second] = [someone("evil.example"), someone("evil.example")];
    const owners = undoIn((await moved(token, email, first)).text);
    const thiefs = undoIn((await moved(token, first, second)).text);
    const stolen = String((await signIn(second)).body.access_token);
    const erased = await stack.call("DELETE", "/api/me?confirm=erase", { token: stolen });
    expect([erased.status, erased.body.error?.code]).toEqual([409, "CONFLICT"]);
    expect((await press(owners)).location).toBe("/auth/done?what=undone");
    expect((await press(thiefs)).status).toBe(422);
    expect(await stack.sql`select email from auth.users where email = any (${[email, first, second]})`).toEqual([
      { email },
    ]);
  });

  test("of the password", async () => {
    const { email, token } = await confirmed();
    await auth("/user", { password: "of the thief" }, token, "PUT");
    const mail = await until(() => server.to(email).find(({ subject }) => subject === "Your password was changed"));
    expect((await press(undoIn(mail.text))).location).toBe("/auth/done?what=undone");
    expect((await signIn(email, "of the thief")).status).toBe(400);
    expect((await stack.call("GET", "/api/me", { token })).status).toBe(401);
  });

  test("of the password, which the account did not have before", async () => {
    const email = someone();
    await auth("/otp", { email });
    const { token_hash, type } = await mailTo(email);
    const { body } = await auth("/verify", { token_hash, type });
    await auth("/user", { password: "of the thief" }, String(body.access_token), "PUT");
    const mail = await until(() => server.to(email).find(({ subject }) => subject === "Your password was changed"));
    expect((await press(undoIn(mail.text))).location).toBe("/auth/done?what=undone");
    expect((await signIn(email, "of the thief")).status).toBe(400);
  });

  test("of each of two passwords", async () => {
    const { email, token } = await confirmed();
    for (const word of ["one of the thief", "two of the thief"])
      expect((await auth("/user", { password: word }, token, "PUT")).status).toBe(200);
    const notices = await until(() => {
      const found = server.to(email).filter(({ subject }) => subject === "Your password was changed");
      return found.length === 2 ? found : undefined;
    });
    expect(new Set(notices.map(({ text }) => undoIn(text).href)).size).toBe(2);
  });

  test("what auth admitted before an undo writes nothing after it", async () => {
    const { email, token } = await confirmed();
    await auth("/user", { password: "of the thief" }, token, "PUT");
    const mail = await until(() => server.to(email).find(({ subject }) => subject === "Your password was changed"));
    const calls = Array.from({ length: 3 }, () => [
      auth("/user", { password: `thief ${randomUUID()}` }, token, "PUT"),
      signIn(email, "of the thief"),
    ]).flat();
    expect((await press(undoIn(mail.text))).location).toBe("/auth/done?what=undone");
    await Promise.all(calls);
    expect(
      await stack.sql`select u.encrypted_password, s.id from auth.users u
        left join auth.sessions s on s.user_id = u.id where u.email = ${email}`,
    ).toEqual([{ encrypted_password: "", id: null }]);

    // The owner's link works after half a minute, even if it was opened before.
    await auth("/recover", { email });
    const reset = await until(() => server.to(email).findLast(({ subject }) => subject === "Reset your password"));
    const token_hash = linkIn(reset.text ?? "", "/auth/confirm").searchParams.get("token_hash");
    const open = () => auth("/verify", { token_hash, type: "recovery" });
    expect((await open()).body).toMatchObject({ code: 409, error_code: "conflict" });
    await stack.sql`update private.account_undos set undone_at = now() - interval '31 seconds' where email = ${email}`;
    const owner = String((await open()).body.access_token);
    expect((await auth("/user", { password: "of the owner" }, owner, "PUT")).status).toBe(200);
  });

  test("the links are hashes in the database", async () => {
    const { email, token } = await confirmed();
    await auth("/user", { password: "another password" }, token, "PUT");
    const mail = await until(() => server.to(email).find(({ subject }) => subject === "Your password was changed"));
    const [name] = Buffer.from(undoIn(mail.text).searchParams.get("token")?.split(".")[1] ?? "", "base64url")
      .toString()
      .split(" ");
    const [row] = await stack.sql`select row_to_json(o)::text as stored from private.account_undos o
      where email = ${email}`;
    expect(name).toMatch(/^[0-9a-f-]{36}$/);
    expect(row?.stored).not.toContain(name);
  });
});

test("an operator who makes an account with a password mails nobody about it", async () => {
  const email = someone();
  await createAccount({ url: stack.supabase_url, secretKey: stack.secret_key }, { email, password });
  // When this later mail has arrived, an earlier one has arrived too.
  await askForCode(email);
  await until(() => server.to(email).find(({ text }) => text?.includes("/auth/confirm")));
  expect(server.to(email)).toHaveLength(1);
  const undos = await stack.sql`
    select from private.account_undos o join auth.users u on u.id = o.user_id where u.email = ${email}`;
  expect([...undos]).toEqual([]);
});
