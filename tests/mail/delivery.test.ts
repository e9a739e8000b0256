import { createHmac, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type OwnStack, type Person, startOwnStack } from "../own-stack.ts";
import { until } from "../until.ts";
import { headerOf, type MailServer, startMailServer } from "./smtp.ts";
import { mailWorld } from "./world.ts";

const webhookSecret = `whsec_${Buffer.from("a secret of the mail provider").toString("base64")}`;
let server: MailServer;
let stack: OwnStack;
let world: ReturnType<typeof mailWorld>;

beforeAll(async () => {
  server = await startMailServer();
  stack = await startOwnStack({
    parts: ["mail-dispatch"],
    functionsEnvironment: {
      MAIL_URL: server.url,
      MAIL_FROM: "feedback@mail.example",
      MAIL_WEBHOOK_SECRET: webhookSecret,
      MAIL_TIMEOUT_SECONDS: "5",
    },
  });
  world = mailWorld(stack);
  await world.enable();
});
afterAll(async () => {
  await stack?.remove();
  await server?.stop();
});
afterEach(() => {
  server.behave = () => "take";
});

const person = async () => (await world.confirmed())[0] as Person;

/** Waits until the first attempt is recorded, and the mail is pending again. */
const triedOnce = (recipient: { id: string }) =>
  until(async () => {
    const [mail] = await world.queued(recipient);
    return mail?.status === "pending" && mail.attempt_count === 1;
  });

describe("a change of status", () => {
  test("is told the author and the followers at once, with its note, and not who made it", async () => {
    const [author, follower, admin] = (await world.confirmed(3)) as [Person, Person, Person];
    await stack.sql`update public.profiles set locale = 'de' where id = ${follower.id}`;
    const id = await world.submit(author, "Offline job sheets");
    await world.follow(id, [follower, admin]);
    await world.changeStatus(id, "completed", "In <b>release</b> 4.2", admin);
    const mail = await until(() => server.to(author.email)[0]);
    expect(mail.subject).toBe("Completed: Offline job sheets");
    expect(mail.from).toMatchObject({ name: "Own", address: "feedback@mail.example" });
    expect(mail.text).toContain("In <b>release</b> 4.2");
    expect(mail.html).toContain("In &lt;b&gt;release&lt;/b&gt; 4.2");
    expect(mail.text).toContain(`${stack.site_url}/submissions/${id}`);
    expect(mail.html).not.toMatch(/<img|<script|https?:\/\/(?!127\.0\.0\.1)/);
    expect(headerOf(mail, "Auto-Submitted")).toBe("auto-generated");
    expect(headerOf(mail, "List-Unsubscribe-Post")).toBe("List-Unsubscribe=One-Click");
    expect(headerOf(mail, "List-Unsubscribe")).toMatch(/^<http:\/\/127\.0\.0\.1:\d+\/unsubscribe\?token=[\w.-]+>$/);
    const [row] = await world.queued(author);
    expect(headerOf(mail, "Message-ID")).toBe(`<${row?.id}@mail.example>`);
    const german = await until(() => server.to(follower.email)[0]);
    expect(german.subject).toBe("Erledigt: Offline job sheets");
    await world.drained();
    expect(server.to(admin.email)).toEqual([]);
    expect(server.to(author.email)).toHaveLength(1);
  });

  test("of one submission makes one thread, each mail with an id of its own", async () => {
    const author = await person();
    const id = await world.submit(author);
    await world.changeStatus(id, "planned");
    await world.changeStatus(id, "in_progress");
    await until(() => server.to(author.email).length === 2);
    const mails = server.to(author.email);
    expect(new Set(mails.map((mail) => headerOf(mail, "References"))).size).toBe(1);
    expect(new Set(mails.map((mail) => headerOf(mail, "Message-ID"))).size).toBe(2);
  });
});

test("texts from right to left keep their side in a mail, and leave that of the sentences around them", async () => {
  const [author, commenter] = (await world.confirmed(2)) as [Person, Person];
  await stack.sql`update public.profiles set name = ${"\u202Eדנה (QA)\u2069"} where id = ${commenter.id}`;
  await world.choose(author, "comment", "at_once");
  const id = await world.submit(author, "مصادقة SSO (v2.0)!");
  await world.changeStatus(id, "planned", "قريبا, v3!");
  const [status] = await until(() => server.to(author.email).length > 0 && server.to(author.email));
  expect(status?.subject).toBe("Planned: \u2068مصادقة SSO (v2.0)!\u2069");
  expect(status?.html).toContain('<h1 dir="auto">مصادقة SSO (v2.0)!</h1>');
  expect(status?.html).toContain('<blockquote dir="auto">قريبا, v3!</blockquote>');
  expect(status?.text).toContain("> قريبا, v3!");
  await world.comment(id, commenter, "שלום, עולם!");
  const [comment] = await until(() => server.to(author.email).length > 1 && server.to(author.email).slice(1));
  expect(comment?.html).toContain('<p class="kind">Comment by \u2068דנה (QA)\u2069</p>');
  expect(comment?.text).toContain("Comment by \u2068דנה (QA)\u2069");
  expect(comment?.html).toContain('<blockquote dir="auto">שלום, עולם!</blockquote>');
});

test("replies and official answers are told at once, other comments in one digest", async () => {
  const [author, commenter, other] = (await world.confirmed(3)) as [Person, Person, Person];
  const [member] = (await world.confirmed(1, "member")) as [Person];
  const id = await world.submit(author);
  const first = await world.comment(id, commenter, "I need it too.");
  await world.comment(id, other, "So do I.");
  await world.comment(id, other, "Since when?", first);
  await world.comment(id, member, "We look into it.");
  await until(() => server.to(author.email)[0]);
  expect(server.to(author.email)[0]?.subject).toBe("Official answer: Offline job sheets");
  await until(() => server.to(commenter.email).length === 2);
  expect(
    server
      .to(commenter.email)
      .map(({ subject }) => subject)
      .sort(),
  ).toEqual(["Official answer: Offline job sheets", "Reply to your comment: Offline job sheets"]);
  await world.comment(id, member, "Since May.", first);
  const replies = await until(() => {
    const texts = server
      .to(commenter.email)
      .flatMap(({ text }) => text?.match(/(.*\n\n)?.*replied to your comment/)?.[0] ?? []);
    return texts.length === 2 && texts;
  });
  // "Team" is on a separate line, which a name cannot contain.
  expect(replies.filter((text) => text.startsWith("Team\n\n"))).toHaveLength(1);
  expect(replies.filter((text) => text.includes("Team"))).toHaveLength(1);
  await world.digestNow();
  const digest = await until(() => server.to(author.email)[2]);
  expect(digest.subject).toBe("News from Own");
  for (const body of ["I need it too.", "So do I.", "Since when?"]) expect(digest.text).toContain(body);
  expect(digest.text).not.toContain("We look into it.");
});

test("a digest does not tell who unfollowed meanwhile, and stays for other submissions", async () => {
  const [author, other] = (await world.confirmed(2)) as [Person, Person];
  const [left, kept] = [await world.submit(author, "A left idea"), await world.submit(author, "A kept idea")];
  for (const id of [left, kept]) await world.comment(id, other, `A comment on ${id}.`);
  await stack.sql`insert into private.unfollows (organization_id, submission_id, user_id) values (${stack.organization.id}, ${left}, ${author.id})`;
  await world.digestNow();
  const { text } = await until(() => server.to(author.email)[0]);
  expect([text?.includes("A kept idea"), text?.includes("A left idea")]).toEqual([true, false]);
});

test("the team gets a summary of what others submitted", async () => {
  const [author] = (await world.confirmed()) as [Person];
  const [member] = (await world.confirmed(1, "member")) as [Person];
  await world.submit(author, "A new idea for the team");
  await world.submit(member, "Their own idea");
  await world.digestNow();
  const mail = await until(() => server.to(member.email)[0]);
  expect(mail.subject).toBe("New feedback in Own");
  expect(mail.text).toContain("A new idea for the team");
  expect(mail.text).not.toContain("Their own idea");
});

test("somebody known by an address alone is told who gave it", async () => {
  const author = await world.author();
  const id = await world.submit(author);
  await world.changeStatus(id, "completed");
  const mail = await until(() => server.to(author.email)[0]);
  expect(mail.text).toContain("Own gave us your email address with feedback from you.");
});

test("an author and a user with one address get one mail of an event", async () => {
  const user = await person();
  const author = await world.author(user.email);
  const id = await world.submit(author);
  await world.follow(id, [user]);
  await world.changeStatus(id, "planned");
  await until(() => server.to(user.email)[0]);
  await world.drained();
  expect(server.to(user.email)).toHaveLength(1);
  expect(await world.queued(author)).toMatchObject([{ status: "dropped" }]);
});

describe("nobody is sent", () => {
  test("what an organization without mail does, an unconfirmed address, or what is muted or declined", async () => {
    const [unconfirmed, muted, declining, stopped] = [
      (await stack.people(1))[0] as Person,
      ...((await world.confirmed(3)) as [Person, Person, Person]),
    ];
    await stack.sql`update auth.users set email_confirmed_at = null where id = ${unconfirmed.id}`;
    const id = await world.submit(await person());
    await world.follow(id, [unconfirmed, muted, declining, stopped]);
    await stack.sql`insert into private.mail_mutes (organization_id, submission_id, profile_id) values (${stack.organization.id}, ${id}, ${muted.id})`;
    await world.choose(declining, "status", "never");
    await stack.sql`select private.suppress_address(${stack.organization.id}, ${stopped.id}, ${stopped.email}, 'refused')`;
    await world.changeStatus(id, "planned");
    await world.drained();
    for (const { email } of [unconfirmed, muted, declining, stopped]) expect(server.to(email)).toEqual([]);
    expect(await world.queued(stopped)).toMatchObject([{ status: "dropped" }]);
    const [other] = await stack.sql<{ id: string }[]>`
      insert into public.organizations (slug, name) values ('silent', 'Silent') returning id`;
    const author = await person();
    const [made] = await stack.sql<{ id: string }[]>`
      insert into public.submissions (organization_id, author_id, title, description, type)
      values (${other?.id ?? ""}, ${author.id}, 'A silent one', 'A description that is long enough.', 'idea') returning id`;
    await stack.sql`insert into public.status_changes ${stack.sql({ organization_id: other?.id, submission_id: made?.id, new_status: "planned" })}`;
    expect(await world.queued(author)).toEqual([]);
  });

  test("what they may not see when it is sent", async () => {
    const [author, follower, member] = [
      ...((await world.confirmed(2)) as [Person, Person]),
      (await world.confirmed(1, "member"))[0] as Person,
    ];
    const id = await world.submit(author);
    await world.follow(id, [follower]);
    server.behave = () => ({ code: 451 });
    await world.comment(id, member, "Not to be read");
    await triedOnce(follower);
    server.behave = () => "take";
    await stack.sql`update public.comments set moderation_state = 'rejected' where submission_id = ${id}`;
    await world.retryNow();
    await until(async () => (await world.queued(follower))[0]?.status === "dropped");
    expect(server.to(follower.email)).toEqual([]);
  });
});

describe("an invite", () => {
  /** An organization that sends mail, and an admin who invites. */
  async function team(name = "Acme", default_locale = "en") {
    const [organization] = await stack.sql<{ id: string }[]>`
      insert into public.organizations ${stack.sql({ slug: `t-${randomUUID()}`, name, default_locale, mail_enabled: true })} returning id`;
    const admin = await person();
    const id = organization?.id ?? "";
    await stack.sql`insert into public.memberships (organization_id, user_id, role) values (${id}, ${admin.id}, 'admin')`;
    const path = `/api/organizations/${id}/invites`;
    return {
      id,
      admin,
      async invite(email: string) {
        const { status, body } = await stack.call("POST", path, { token: admin.token, body: { email } });
        expect(status).toBe(201);
        return body.data as { id: string; token: string; is_mailed: boolean };
      },
      revoke: (invite: string) => stack.call("DELETE", `${path}/${invite}`, { token: admin.token }),
    };
  }
  const accept = async (token: string, { token: by }: Person) =>
    (await stack.call("POST", "/api/invites/accept", { token: by, body: { token } })).status;
  const stateOf = ({ id }: { id: string }) =>
    until(async () => {
      const [mail] = await stack.sql<{ status: string }[]>`
        select status from private.mails where invite_id = ${id} and finished_at is not null`;
      return mail?.status;
    });
  const linkIn = (text = "", path: string) => new URL(new RegExp(`http\\S+/${path}\\?\\S+`).exec(text)?.[0] ?? "none:");

  test("goes to the address in the language of the organization, with a link for its owner alone", async () => {
    const { id, invite } = await team("Free money at https://evil.example <b>", "de");
    const [invited, other] = (await world.confirmed(2)) as [Person, Person];
    const made = await invite(invited.email);
    expect(made.is_mailed).toBe(true);
    const mail = await until(() => server.to(invited.email)[0]);
    expect(mail.subject).toMatch(/^Einladung in das Team von Free money at https/);
    expect(mail.html).not.toContain("<b>");
    // The name must not become a link in any mail program.
    for (const said of [mail.html, mail.text, mail.subject, mail.from?.name])
      expect(said).not.toMatch(/https:\/\/evil|evil\.example/);
    expect(headerOf(mail, "List-Unsubscribe-Post")).toBe("List-Unsubscribe=One-Click");
    const token = linkIn(mail.text, "invite").searchParams.get("token") ?? "";
    const refusal = linkIn(mail.text, "unsubscribe/invites").searchParams.get("token") ?? "";
    expect(mail.raw).not.toContain(made.token);

    const [keyId, payload = "", mac] = token.split(".");
    const told = Buffer.from(payload, "base64url").toString();
    const forged = Buffer.from(told.replace(made.id, randomUUID())).toString("base64url");
    for (const wrong of [refusal, `${token}x`, `${keyId}.${forged}.${mac}`, made.id])
      expect(await accept(wrong, invited), wrong).toBe(404);
    expect(await accept(token, other)).toBe(403);
    expect(await accept(token, invited)).toBe(201);
    expect(await accept(token, invited)).toBe(200);
    expect(await accept(made.token, invited)).toBe(200);

    const [kept] = await stack.sql<{ text: string }[]>`
      select (select coalesce(string_agg(o.data::text, ''), '') from private.outbox o where o.organization_id = ${id})
        || (select string_agg(a.details::text, '') from private.audit_log a where a.organization_id = ${id}) as text`;
    const log = (await stack.functionsLog()) + (await readFile(`${stack.folder}/mail-dispatch.log`, "utf8"));
    for (const secret of [token, refusal, made.token, invited.email]) {
      expect(kept?.text).not.toContain(secret);
      expect(log).not.toContain(secret);
    }
  });

  test("is not sent once it is revoked", async () => {
    const { invite, revoke } = await team();
    const email = `${randomUUID()}@person.example`;
    server.behave = () => ({ code: 451 });
    const made = await invite(email);
    await until(async () => {
      const [mail] = await stack.sql`
        select from private.mails where invite_id = ${made.id} and status = 'pending' and attempt_count = 1`;
      return mail;
    });
    expect((await revoke(made.id)).status).toBe(200);
    server.behave = () => "take";
    await world.retryNow();
    expect(await stateOf(made)).toBe("dropped");
    expect(server.to(email)).toEqual([]);
  });

  test("to an address that takes no mail is the last", async () => {
    const { invite } = await team();
    const email = `${randomUUID()}@person.example`;
    server.behave = (address) => (address === email ? { code: 550 } : "take");
    expect(await stateOf(await invite(email))).toBe("failed");
    server.behave = () => "take";
    expect(await stateOf(await invite(email))).toBe("dropped");
    expect(server.to(email)).toEqual([]);
  });
});

test("text of users begins no header and no tag", async () => {
  const author = await person();
  const id = await world.submit(author, "Hello\r\nBcc: victim@other.example <script>");
  await world.changeStatus(id, "planned", "<script>alert(1)</script>\n.\nQUIT");
  const mail = await until(() => server.to(author.email)[0]);
  expect(headerOf(mail, "Bcc")).toBeUndefined();
  expect(mail.subject).toBe("Planned: Hello Bcc: victim@other.example <script>");
  expect(mail.html).not.toContain("<script");
  expect(mail.text).toContain("<script>alert(1)</script>");
});

test("encoded words of users are shown as they were written, in the subject and in the name of the sender", async () => {
  const titles = [
    "=?utf-8?q?Your_invoice?=",
    "About =?utf-8?b?8J+SuQ==?= and =?UTF-8?Q?more?=",
    "=?iso-8859-1?Q?=0A=0DBcc=3A?=",
    "=?utf-8?q?x?==?utf-8?q?y?=",
    "Half a =?utf-8?q?word, with ünï and \u{1F600} \u05e9\u05dc\u05d5\u05dd",
    `${"=?utf-8?q?long?= ".repeat(9)}end`,
  ];
  const [kept] = await stack.sql`select id, name from public.organizations where id = ${world.organization.id}`;
  const rename = (name: string) =>
    stack.sql`update public.organizations set name = ${name} where id = ${world.organization.id}`;
  const name = '=?utf-8?q?Bank?= of "maps" \u{1F5FA} =?x?=';
  await rename(name);
  const author = await person();
  for (const title of titles) await world.changeStatus(await world.submit(author, title), "planned");
  const mails = await until(() => {
    const found = server.to(author.email);
    return found.length === titles.length && found;
  });
  await rename(kept?.name);
  // Texts with letters from right to left are isolated.
  expect(
    mails.map(({ subject }) => subject?.replace("Planned: ", "").replaceAll(/[\u2068\u2069]/g, "")).sort(),
  ).toEqual([...titles].sort());
  for (const mail of mails) {
    expect(mail.from).toMatchObject({ name, address: "feedback@mail.example" });
    expect(mail.raw.match(/^From:/gm)).toHaveLength(1);
    expect(headerOf(mail, "Bcc")).toBeUndefined();
    const [head = ""] = mail.raw.split("\r\n\r\n");
    expect(Math.max(...head.split("\r\n").map((line) => line.length))).toBeLessThan(400);
  }
});

test("text of users is quoted in the text of a mail, so that it looks like no line of ours", async () => {
  const author = await person();
  const evil = "https://evil.example/unsubscribe";
  const id = await world.submit(author, `A title\n\nUnsubscribe: ${evil}`);
  await world.changeStatus(id, "planned", `Soon.\n\n-- \n\u2028Unsubscribe: ${evil}`);
  const { text = "" } = await until(() => server.to(author.email)[0]);
  const lines = text.split(/[\r\n\u2028]+/).filter((line) => line.includes(evil));
  expect(lines).toHaveLength(2);
  for (const line of lines) expect(line).toMatch(/^(> |A title )/);
});

test("a long subject ends with a whole character", async () => {
  const author = await person();
  for (const start of ["", "x"]) {
    const id = await world.submit(author, start + "\u{1F600}".repeat(199));
    await world.changeStatus(id, "planned");
  }
  const mails = await until(() => {
    const found = server.to(author.email);
    return found.length === 2 && found;
  });
  for (const { subject = "" } of mails) expect(subject).toMatch(/^Planned: x?\u{1F600}+$/u);
});

describe("a server that", () => {
  test("defers is asked again, with the same Message-ID", async () => {
    const author = await person();
    const id = await world.submit(author);
    server.behave = (address, stage) => (address === author.email && stage === "rcpt" ? { code: 450 } : "take");
    await world.changeStatus(id, "planned");
    await triedOnce(author);
    server.behave = () => "take";
    await world.retryNow();
    const mail = await until(() => server.to(author.email)[0]);
    expect(headerOf(mail, "Message-ID")).toContain((await world.queued(author))[0]?.id);
  });

  test("refuses an address gets no more mail for it, from anybody", async () => {
    const author = await person();
    const id = await world.submit(author);
    server.behave = (address) => (address === author.email ? { code: 550 } : "take");
    await world.changeStatus(id, "planned");
    await until(async () => (await world.queued(author))[0]?.status === "failed");
    server.behave = () => "take";
    await world.changeStatus(id, "completed");
    await until(async () => (await world.queued(author))[1]?.status === "dropped");
    expect(server.to(author.email)).toEqual([]);
    const [row] =
      await stack.sql`select reason, address_hash from private.mail_suppressions where profile_id = ${author.id}`;
    expect(row?.reason).toBe("bounced");
    expect(row?.address_hash).not.toContain(author.email);
  });

  // Otherwise the author of a quoted text could stop all mail to its reader.
  test.each([
    { stage: "data", code: 554, text: "no" },
    { stage: "data", code: 550, text: "5.7.1 this text is unwanted" },
    { stage: "data", code: 550, text: "5.6.0 this text is malformed" },
    { stage: "rcpt", code: 550, text: "5.7.1 this sender is blocked" },
  ])("refuses a mail, not its address, gets the next one: $stage $code $text", async (refusal) => {
    const author = await person();
    const id = await world.submit(author);
    server.behave = (address, stage) => (address === author.email && stage === refusal.stage ? refusal : "take");
    await world.changeStatus(id, "planned");
    await until(async () => (await world.queued(author))[0]?.status === "failed");
    server.behave = () => "take";
    await world.changeStatus(id, "completed");
    await until(() => server.to(author.email)[0]);
  });

  test("cuts off delays nobody else, and what it took twice has one Message-ID", async () => {
    const [cut, fine] = (await world.confirmed(2)) as [Person, Person];
    const id = await world.submit(fine);
    await world.follow(id, [cut]);
    server.behave = (address, stage) => (stage === "data" && address === cut.email ? "cut off" : "take");
    await world.changeStatus(id, "planned");
    await until(() => server.to(fine.email)[0]);
    await triedOnce(cut);
    server.behave = () => "take";
    await world.retryNow();
    await until(() => server.to(cut.email).length === 2);
    expect(new Set(server.to(cut.email).map((mail) => headerOf(mail, "Message-ID"))).size).toBe(1);
  });

  test("hangs delays nobody else, and is given up after a while", async () => {
    const [hung, fine] = (await world.confirmed(2)) as [Person, Person];
    const id = await world.submit(fine);
    await world.follow(id, [hung]);
    server.behave = (address, stage) => (stage === "data" && address === hung.email ? "hang" : "take");
    await world.changeStatus(id, "planned");
    await until(() => server.to(fine.email)[0]);
    // This is our own timeout: the server would keep the connection.
    const [late] = await until(async () => {
      const mails = await world.queued(hung);
      return mails[0]?.last_error ? mails : undefined;
    });
    expect(late?.last_error).toBe("The server did not answer in time.");
    // Only this mail is affected: the others need not wait for the server.
    const [row] = await stack.sql`select counted_from from private.mails where profile_id = ${hung.id}`;
    expect(row?.counted_from).toBe(0);
    server.behave = () => "take";
    await until(async () => {
      await world.retryNow();
      return server.to(hung.email)[0];
    });
  });
});

test("addresses are in no log, event or webhook", async () => {
  const log = await import("node:fs/promises").then(({ readFile }) =>
    readFile(`${stack.folder}/mail-dispatch.log`, "utf8"),
  );
  expect(log).not.toMatch(/@(test|author)\.example/);
  const [row] = await stack.sql`
    select count(*)::int as n from private.outbox where data::text ~ '@(test|author)[.]example'`;
  expect(row?.n).toBe(0);
  const [errors] = await stack.sql`select count(*)::int as n from private.mails where last_error ~ '@'`;
  expect(errors?.n).toBe(0);
});

describe("a report of the mail provider", () => {
  const report = (type: string, to: string, more: object = {}) => ({ type, data: { to: [to], ...more } });
  const send = (body: object, { key = webhookSecret, prefix = "svix", path = "/mail-dispatch/reports" } = {}) => {
    const text = JSON.stringify(body);
    const [id, timestamp] = [`msg_${randomUUID()}`, String(Math.floor(Date.now() / 1000))];
    const mac = createHmac("sha256", Buffer.from(key.slice(6), "base64")).update(`${id}.${timestamp}.${text}`);
    return stack.call("POST", `/functions/v1${path}`, {
      base: stack.supabase_url,
      body: text,
      headers: {
        [`${prefix}-id`]: id,
        [`${prefix}-timestamp`]: timestamp,
        [`${prefix}-signature`]: `v1,${mac.digest("base64")}`,
      },
    });
  };
  const reasons = async ({ id }: { id: string }) =>
    (await stack.sql`select reason from private.mail_suppressions where profile_id = ${id}`).map((row) => row.reason);

  test.each([
    ["a complaint", "email.complained", {}, "complained"],
    ["a bounce for good", "email.bounced", { bounce: { type: "Permanent" } }, "bounced"],
  ])("of %s stops mail to the address", async (_, type, more, reason) => {
    const author = await world.author();
    const id = await world.submit(author);
    expect((await send(report(type, author.email.toUpperCase(), more))).status).toBe(200);
    expect(await reasons(author)).toEqual([reason]);
    await world.changeStatus(id, "completed");
    await world.drained();
    expect(server.to(author.email)).toEqual([]);
    expect(await world.queued(author)).toMatchObject([{ status: "dropped" }]);
  });

  test("about a user counts where they got mail, also by the names of Standard Webhooks", async () => {
    const user = await person();
    await world.changeStatus(await world.submit(user), "planned");
    await until(() => server.to(user.email)[0]);
    await send(report("email.complained", user.email), { prefix: "webhook" });
    expect(await reasons(user)).toEqual(["complained"]);
  });

  test("of something else changes nothing, nor does one of a stranger", async () => {
    const author = await world.author();
    await send(report("email.bounced", author.email, { bounce: { type: "Transient" } }));
    await send(report("email.delivered", author.email));
    await send(report("email.complained", `${randomUUID()}@nobody.example`));
    expect((await send({ hello: [] })).status).toBe(200);
    expect(await reasons(author)).toEqual([]);
  });

  test("that is not signed is refused", async () => {
    const author = await world.author();
    const forged = await send(report("email.complained", author.email), { key: "whsec_Zm9yZ2Vk" });
    expect(forged.status).toBe(401);
    const unsigned = await stack.call("POST", "/functions/v1/mail-dispatch/reports", {
      base: stack.supabase_url,
      body: report("email.complained", author.email),
    });
    expect(unsigned.status).toBe(401);
    expect(await reasons(author)).toEqual([]);
  });
});

describe("a survey", () => {
  /** A survey for the voters of a submission. */
  async function survey(audience: string, submission: string | null): Promise<string> {
    const id = randomUUID();
    await stack.sql`insert into public.surveys ${stack.sql({ id, family_id: id, organization_id: stack.organization.id, title: "Three questions", audience, audience_submission_id: submission })}`;
    await stack.sql`
      insert into public.survey_questions (organization_id, survey_id, position, type, text)
      values (${stack.organization.id}, ${id}, 1, 'nps', 'How likely?')`;
    await stack.sql`update public.surveys set status = 'published' where id = ${id}`;
    return id;
  }
  const ask = async (id: string, body: object, by: { token: string }) =>
    (await stack.call("POST", `/api/surveys/${id}/mail`, { token: by.token, body })) as {
      status: number;
      body: { data?: Record<string, unknown> };
    };

  test("asks each voter once, and reminds once who did not answer", async () => {
    const [author, voter, never] = (await world.confirmed(3)) as [Person, Person, Person];
    const admin = await stack.person("admin");
    const id = await world.submit(author);
    await stack.sql`insert into public.votes ${stack.sql([voter, never].map((by) => ({ organization_id: stack.organization.id, submission_id: id, user_id: by.id })))}`;
    await world.choose(never, "survey", "never");
    const asked = await survey("voters", id);
    expect((await ask(asked, {}, voter)).status).toBe(403);
    expect((await ask(asked, {}, admin)).body.data).toMatchObject({ queued: 3, asked: 3, reminded: 0 });
    expect((await ask(asked, {}, admin)).body.data).toMatchObject({ queued: 0, asked: 3 });
    const mail = await until(() => server.to(voter.email)[0]);
    expect(mail.subject).toBe("Three questions");
    expect(mail.text).toContain(`${stack.site_url}/surveys/${asked}`);
    expect(mail.text).toContain("/unsubscribe?token=");
    await until(() => server.to(author.email)[0]);
    expect((await ask(asked, { reminder: true }, admin)).body.data).toMatchObject({ queued: 0, reminded: 0 });
    await stack.sql`update private.survey_requests set created_at = now() - interval '2 days' where survey_id = ${asked}`;
    await stack.sql`
      insert into public.survey_responses (organization_id, survey_id, user_id, answers)
      select organization_id, survey_id, ${author.id}, jsonb_build_array(jsonb_build_object('question_id', id, 'value', 9))
      from public.survey_questions where survey_id = ${asked}`;
    expect((await ask(asked, { reminder: true }, admin)).body.data).toMatchObject({ queued: 2, reminded: 2 });
    await until(() => server.to(voter.email).length === 2);
    expect((await ask(asked, { reminder: true }, admin)).body.data).toMatchObject({ queued: 0 });
    await world.drained();
    expect(server.to(author.email)).toHaveLength(1);
    expect(server.to(never.email)).toEqual([]);
  });

  test("for everyone is not mailed, nor one that takes no answers", async () => {
    const admin = await stack.person("admin");
    expect((await ask(await survey("everyone", null), {}, admin)).status).toBe(409);
    const paused = await survey("followers", await world.submit(await person()));
    await stack.sql`update public.surveys set status = 'paused' where id = ${paused}`;
    expect((await ask(paused, {}, admin)).status).toBe(409);
    expect((await ask(randomUUID(), {}, admin)).status).toBe(404);
  });
});
