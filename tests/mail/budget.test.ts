// An organization has a daily limit of mails to addresses that others entered, whatever it enters.
import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { PersonClaim } from "../../functions/mail-dispatch/database.ts";
import { withPlainTexts } from "../../functions/mail-dispatch/plain-texts.ts";
import { type OwnStack, type Person, startOwnStack } from "../own-stack.ts";
import { until } from "../until.ts";
import { type MailServer, startMailServer } from "./smtp.ts";
import { mailWorld } from "./world.ts";

const evil = "https://parcel.evil.example/pay";
let server: MailServer;
let stack: OwnStack;
let world: ReturnType<typeof mailWorld>;
let owner: Person;
let key: string;

beforeAll(async () => {
  server = await startMailServer();
  stack = await startOwnStack({
    parts: ["mail-dispatch"],
    functionsEnvironment: { MAIL_URL: server.url, MAIL_FROM: "feedback@mail.example" },
  });
  world = mailWorld(stack);
  await world.enable();
  [owner] = (await world.confirmed(1, "owner")) as [Person];
  key = await stack.key(["submissions:write", "submissions:moderate"]);
});
afterAll(async () => {
  await stack?.remove();
  await server?.stop();
});
beforeEach(async () => {
  await stack.sql`delete from private.mail_budgets`;
  await stack.sql`delete from private.mail_items`;
  await allow(200);
});

const allow = (mails: number | null) =>
  stack.sql`update public.organizations set max_unconfirmed_mails = ${mails} where id = ${stack.organization.id}`;
const strangers = (count: number) => Promise.all(Array.from({ length: count }, () => world.author()));
const mailsTo = (people: { email: string }[]) => people.flatMap(({ email }) => server.to(email));
const answer = (id: string) =>
  stack.call("POST", `/api/submissions/${id}/comments`, { token: owner.token, body: { body: `Pay at ${evil}` } });
async function nextDay(): Promise<void> {
  await stack.sql`update private.mail_budgets set day = day - 1`;
  await world.digestNow();
  await world.drained();
}
/** Digest entries for people who are known by an address only. */
const waiting = async () =>
  (
    await stack.sql`select from private.mail_items i join public.profiles p on p.id = i.profile_id where p.kind = 'email'`
  ).length;

describe("a key", () => {
  const enter = (path: string, body: object) => stack.call("POST", `/api${path}`, { token: key, body });

  test("that enters strangers as voters and commenters mails none of them", async () => {
    const id = await world.submit(owner);
    const entered = Array.from({ length: 30 }, () => ({ email: `${randomUUID()}@somewhere.example` }));
    for (const [n, { email }] of entered.entries()) {
      const written =
        n % 2
          ? await enter(`/submissions/${id}/vote`, { author_email: email })
          : await enter(`/submissions/${id}/comments`, { author_email: email, body: "Me too" });
      expect(written.status).toBe(201);
      if (n === 0)
        await enter(`/submissions/${id}/comments`, { parent_id: written.body.data?.id, body: `Pay at ${evil}` });
    }
    const asked = `${randomUUID()}@somewhere.example`;
    await enter(`/submissions/${id}/vote`, { author_email: asked, follow: true });
    expect((await answer(id)).status).toBe(201);
    const note = { status: "planned", note: `Or pay at ${evil}` };
    await stack.call("PATCH", `/api/submissions/${id}/status`, { token: key, body: note });
    await until(() => server.to(asked).length === 2);
    await world.drained();
    expect(mailsTo(entered)).toEqual([]);
    expect(await waiting()).toBe(0);
  });

  test("that enters submissions of strangers, and asks to follow for others, mails the budget", async () => {
    await allow(4);
    const entered = Array.from({ length: 8 }, () => ({ email: `${randomUUID()}@somewhere.example` }));
    const id = await world.submit(owner);
    for (const [n, { email }] of entered.entries()) {
      const written =
        n % 2
          ? await enter(`/submissions/${id}/vote`, { author_email: email, follow: true })
          : await enter("/submissions", {
              author_email: email,
              title: "Your parcel is here",
              description: "A description that is long enough.",
              type: "idea",
            });
      expect(written.status).toBe(201);
      const of = n % 2 ? id : written.body.id;
      await stack.call("PATCH", `/api/submissions/${of}/status`, {
        token: key,
        body: { status: n % 4 < 2 ? "planned" : "in_progress", note: `Pay at ${evil}` },
      });
    }
    await answer(id);
    await world.drained();
    expect(mailsTo(entered)).toHaveLength(4);
  });
});

test("several dispatchers send the budget exactly, and the digests of the next days the rest, once", async () => {
  await allow(7);
  const people = await strangers(20);
  const user = (await world.confirmed())[0] as Person;
  const id = await world.submit(owner);
  await world.follow(id, [...people, user]);
  const dispatchers = postgres(stack.db_url, { max: 6, onnotice: () => undefined });
  await stack.sql`delete from private.mails`;
  // One transaction, so that all are due at once and the stack's own dispatcher is woken too.
  await world.changeStatus(id, "completed");
  const claimed = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const claims = [];
      for (let round = 0; round < 8; round++)
        claims.push(...(await dispatchers<{ id: string }[]>`select id from private.record_and_claim_mails('[]', 2)`));
      return claims;
    }),
  );
  await dispatchers.end();
  // When the claims of the test's dispatchers expire, the stack's dispatcher sends the mails.
  await stack.sql`update private.mails set next_attempt_at = now() where id = any (${claimed.flat().map(({ id: mail }) => mail)})`;
  await stack.sql`select pg_notify('mails', '')`;
  await world.drained();
  expect(server.to(user.email)).toHaveLength(1);
  expect(mailsTo(people)).toHaveLength(7);
  expect(await waiting()).toBe(13);

  await world.digestNow();
  await world.drained();
  expect(mailsTo(people)).toHaveLength(7);
  await nextDay();
  expect(mailsTo(people)).toHaveLength(14);
  await nextDay();
  for (const { email } of people) expect(server.to(email)).toHaveLength(1);
  expect(await waiting()).toBe(0);
});

test("several events beyond the budget are one digest", async () => {
  await allow(0);
  const [person] = (await strangers(1)) as [{ id: string; email: string }];
  const id = await world.submit(owner);
  await world.follow(id, [person]);
  await world.changeStatus(id, "planned");
  await answer(id);
  await world.drained();
  expect(server.to(person.email)).toEqual([]);
  await allow(1);
  await nextDay();
  expect(server.to(person.email).map(({ subject }) => subject)).toEqual(["News from Own"]);
});

test("an invite beyond the budget waits for the next day", async () => {
  await allow(0);
  const email = `${randomUUID()}@somewhere.example`;
  const path = `/api/organizations/${stack.organization.id}/invites`;
  await stack.call("POST", path, { token: owner.token, body: { email } });
  await world.drained();
  expect(server.to(email)).toEqual([]);
  await allow(1);
  await world.retryNow();
  await until(() => server.to(email)[0]);
});

test("people who saved what mail they want cost no budget", async () => {
  await allow(0);
  const [known, silent] = (await strangers(2)) as [{ id: string; email: string }, { id: string; email: string }];
  await stack.sql`select private.change_mail_preferences(${stack.organization.id}, ${known.id}, '{"choices": {"status": "at_once"}}')`;
  await stack.sql`select private.change_mail_preferences(${stack.organization.id}, ${silent.id}, '{"stop": "comment"}')`;
  const id = await world.submit(owner);
  await world.follow(id, [known, silent]);
  await world.changeStatus(id, "planned");
  await until(() => server.to(known.email)[0]);
  await world.drained();
  expect(server.to(silent.email)).toEqual([]);
});

test("links in texts are none in mail to an unconfirmed address, and stay in that to others", async () => {
  const user = (await world.confirmed())[0] as Person;
  const [stranger] = (await strangers(1)) as [{ id: string; email: string }];
  const id = await world.submit(owner, `Pay at ${evil}`);
  await world.follow(id, [stranger, user]);
  await answer(id);
  const [toUser, toStranger] = [
    await until(() => server.to(user.email)[0]),
    await until(() => server.to(stranger.email)[0]),
  ];
  for (const said of [toUser.subject, toUser.text, toUser.html]) expect(said).toContain(evil);
  for (const said of [toStranger.subject, toStranger.text, toStranger.html])
    expect(said).not.toMatch(/https:\/\/parcel|evil\.example/);
  expect(toStranger.text).toContain(`${stack.site_url}/submissions/${id}`);
});

test("signs that mail programs read as those of an address are followed by a joiner", () => {
  const texts = [
    ...["http://evil.com", "www.192.0.2.7", "evil.\u{1F4A9}.la", "evil.xn--p1ai", "me@evil.com"],
    ...["http\uFF1A\uFF0F\uFF0Fevil\uFF0Ecom", "evil\u3002com", "evil\uFF61com", "evil\u2024com", "evil\uFE52com"],
    ...["a\uFF20evil", "evil.\u200Bcom", "evil.\u00ADcom", "evil.\u0301com", "evil.\uFEFFcom", "evil\u2026com"],
  ];
  const plain = (title: string) => {
    const event = { kind: "status", submission_id: "", title } as const;
    const person = { id: "", kind: "email", name: null, locale: "en", is_confirmed: false } as const;
    const claim = { kind: "status", profile: person, organization: { name: "" }, events: [event] };
    return (withPlainTexts(claim as unknown as PersonClaim) as PersonClaim).events[0]?.title;
  };
  const signs = /[.:/@\uFF1A\uFF0F\uFF0E\uFF20\u3002\uFF61\u2024\u2026\uFE52]/gu;
  for (const text of texts) expect(plain(text)).toBe(text.replaceAll(signs, "$&\u2060"));
  expect(plain("Yes. And\u3002\n")).toBe("Yes. And\u3002\n");
});

test("a round that claims no mail but drops or puts off some starts another", async () => {
  let calls = 0;
  const listening = await stack.sql.listen("mails", () => calls++);
  const round = (due: number) =>
    stack.sql.begin(async (sql) => {
      await sql`insert into private.mails (organization_id, kind, event_ids)
        select ${stack.organization.id}, 'invite', '{}' from generate_series(1, ${due}::integer)`;
      await sql`select private.record_and_claim_mails('[]', 5)`;
    });
  await round(0);
  await stack.sql`select pg_notify('mails', '')`;
  await until(() => calls === 1);
  await round(1);
  await until(() => calls === 2);
  await listening.unlisten();
});

test("the many mails of one organization do not delay those of another", async () => {
  const [many, one] = [await strangers(200), (await world.confirmed())[0] as Person];
  await allow(null);
  const id = await world.submit(owner);
  await world.follow(id, many);
  const [other] = await stack.sql<{ id: string }[]>`
    insert into public.organizations (slug, name, mail_enabled) values ('quiet', 'Quiet', true) returning id`;
  const [asked] = await stack.sql<{ id: string }[]>`
    insert into public.submissions (organization_id, author_id, title, description, type)
    values (${other?.id ?? ""}, ${one.id}, 'A quiet one', 'A description that is long enough.', 'idea') returning id`;
  const before = server.arrived.length;
  await stack.sql.begin(async (sql) => {
    await sql`insert into public.status_changes ${sql({ organization_id: stack.organization.id, submission_id: id, new_status: "planned" })}`;
    await sql`update private.mails set next_attempt_at = now() - interval '1 minute' where status = 'pending'`;
    await sql`insert into public.status_changes ${sql({ organization_id: other?.id, submission_id: asked?.id, new_status: "planned" })}`;
  });
  await world.drained();
  expect(mailsTo(many)).toHaveLength(200);
  const place = server.arrived.slice(before).findIndex(({ recipient }) => recipient === one.email);
  expect(place).toBeGreaterThanOrEqual(0);
  expect(place).toBeLessThan(100);
});
