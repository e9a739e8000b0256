import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Secrets } from "../../local/folders/data-folder.ts";
import fc from "../fuzz.ts";
import { makeCertificates } from "../hosted/certificates.ts";
import { startOwnFunctions } from "../mcp/own-functions.ts";
import { type OwnStack, type Person, startOwnStack } from "../own-stack.ts";
import { functionsPid, killPostgres } from "../processes.ts";
import { until } from "../until.ts";
import { headerOf, type MailServer, startMailServer } from "./smtp.ts";
import { mailWorld } from "./world.ts";

const MAIL_FROM = "feedback@mail.example";

describe("by SMTP over TLS", () => {
  let server: MailServer;
  let stack: OwnStack;
  let world: ReturnType<typeof mailWorld>;

  beforeAll(async () => {
    const { authority, certificate, key } = makeCertificates("127.0.0.1");
    server = await startMailServer({
      secure: true,
      key,
      cert: certificate,
      authOptional: false,
      onAuth: ({ username, password }, _session, callback) =>
        username === "us er" && password === "p@ss" ? callback(null, { user: "u" }) : callback(new Error("no")),
    });
    const url = new URL(server.url);
    url.username = "us er";
    url.password = "p%40ss";
    stack = await startOwnStack({
      parts: ["mail-dispatch"],
      functionsEnvironment: { MAIL_URL: url.href, MAIL_FROM, DENO_CERT: await writtenTo(authority) },
    });
    world = mailWorld(stack);
    await world.enable();
  });
  const folders: string[] = [];
  async function writtenTo(text: string): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), "feedback-ca-"));
    folders.push(folder);
    await writeFile(join(folder, "ca.pem"), text);
    return join(folder, "ca.pem");
  }
  afterAll(async () => {
    await stack?.remove();
    await server?.stop();
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  });

  test("mail is sent after signing in, to a server whose certificate holds", async () => {
    const [author] = (await world.confirmed()) as [Person];
    await world.changeStatus(await world.submit(author), "planned");
    await until(() => server.to(author.email)[0]);
  });

  test("nothing is lost and everything known again when dispatcher and Postgres are killed in a drain", async () => {
    const followers = await world.confirmed(60);
    const id = await world.submit(followers[0] as Person);
    await world.follow(id, followers.slice(1));
    await world.changeStatus(id, "completed");
    for (const enough of [5, 15, 25]) {
      await until(() => server.arrived.length > enough);
      process.kill(await functionsPid("mail-dispatch"), "SIGKILL");
      await killPostgres(stack);
      // Mails of a dead dispatcher are claimed again when its claim expires.
      await until(() =>
        world.sql`update private.mails set next_attempt_at = now() where status = 'sending'`.then(
          () => true,
          () => false,
        ),
      );
    }
    await until(() => followers.every(({ email }) => server.to(email).length > 0));
    for (const { email } of followers)
      expect(new Set(server.to(email).map((mail) => headerOf(mail, "Message-ID"))).size).toBe(1);
  });
});

/** A stack without a dispatcher; each test starts its own, for its server. */
function undispatched() {
  let stack: OwnStack;
  let world: ReturnType<typeof mailWorld>;
  beforeAll(async () => {
    stack = await startOwnStack();
    world = mailWorld(stack);
    await world.enable();
  });
  afterAll(() => stack?.remove());

  /** The first attempt to send a mail with these variables, once it has ended. */
  return async (environment: Record<string, string>) => {
    await stack.sql`delete from private.mails`;
    const secrets: Secrets = JSON.parse(await readFile(join(stack.folder, "secrets.json"), "utf8"));
    const dispatcher = await startOwnFunctions(
      {
        MAIL_DATABASE_URL: stack.superuserUrl,
        MAIL_FROM,
        MAIL_LINK_KEYS: secrets.mail_link_key,
        WEBHOOK_DISPATCH_SECRET: secrets.webhook_dispatch_secret,
        SUPABASE_URL: stack.supabase_url,
        ...environment,
      },
      { name: "mail-dispatch", healthPath: "/mail-dispatch/health" },
    );
    try {
      const [author] = (await world.confirmed()) as [Person];
      await world.changeStatus(await world.submit(author), "planned");
      const asked = await fetch(`http://127.0.0.1:${dispatcher.port}/mail-dispatch`, {
        method: "POST",
        headers: { authorization: `Bearer ${secrets.webhook_dispatch_secret}` },
      });
      expect(asked.status).toBe(202);
      return await until(async () => {
        const rows = await stack.sql`
          select status, last_error, counted_from, attempt_count, (select count(*)::int from private.mail_suppressions) as suppressed
          from private.mails where profile_id = ${author.id}`;
        expect(rows).toHaveLength(1);
        return rows[0]?.status === "sent" || rows[0]?.last_error ? rows[0] : undefined;
      });
    } finally {
      await dispatcher.stop();
    }
  };
}

// A server elsewhere must offer STARTTLS; an address of this machine that is not loopback is elsewhere enough.
const elsewhere = Object.values(networkInterfaces())
  .flat()
  .find((at) => at && !at.internal && at.family === "IPv4")?.address;

describe.skipIf(!elsewhere)("by SMTP with STARTTLS", () => {
  const address = elsewhere ?? "";

  const attempt = undispatched();

  test("mail goes over TLS, to a server whose certificate holds", async () => {
    const { authority, certificate, key } = makeCertificates(address);
    const folder = await mkdtemp(join(tmpdir(), "feedback-ca-"));
    await writeFile(join(folder, "ca.pem"), authority);
    const server = await startMailServer({ key, cert: certificate }, 0, address);
    try {
      const mail = await attempt({ MAIL_URL: server.url, DENO_CERT: join(folder, "ca.pem") });
      expect(mail).toMatchObject({ status: "sent" });
      expect(server.arrived.map(({ isSecure }) => isSecure)).toEqual([true]);
    } finally {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });

  test.each([
    ["offers no STARTTLS", false],
    ["has a certificate that nobody signed", true],
  ])("a server that %s gets no mail, and loses none", async (_, offersTls) => {
    const { certificate, key } = makeCertificates(address);
    const server = await startMailServer(offersTls ? { key, cert: certificate } : {}, 0, address);
    try {
      expect(await attempt({ MAIL_URL: server.url })).toMatchObject({ status: "pending" });
      expect(server.arrived).toEqual([]);
      expect(server.counts.recipients).toBe(0);
    } finally {
      await server.stop();
    }
  });
});

describe("a server that takes no mail at all", () => {
  const attempt = undispatched();

  test.each([
    ["has a certificate that nobody signed", "smtps"],
    ["is not there", "smtp"],
  ])("%s loses none and suppresses nobody", async (_, scheme) => {
    const { certificate, key } = makeCertificates("127.0.0.1");
    const server = await startMailServer(scheme === "smtps" ? { secure: true, key, cert: certificate } : {});
    if (scheme === "smtp") await server.stop();
    try {
      const mail = await attempt({ MAIL_URL: server.url });
      // The attempt does not count as one of the mail.
      expect(mail).toMatchObject({ status: "pending", counted_from: mail.attempt_count, suppressed: 0 });
      expect(server.arrived).toEqual([]);
    } finally {
      if (scheme === "smtps") await server.stop();
    }
  });
});

describe("by an HTTP API", () => {
  let answers: { status: number; headers?: Record<string, string> }[] = [];
  const heard: { headers: IncomingMessage["headers"]; body: Record<string, never>; at: number }[] = [];
  const provider = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    heard.push({ headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString()), at: Date.now() });
    const { status, headers } = answers.shift() ?? { status: 200 };
    response.writeHead(status, headers).end("{}");
  });
  let stack: OwnStack;
  let world: ReturnType<typeof mailWorld>;

  beforeAll(async () => {
    await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
    stack = await startOwnStack({
      parts: ["mail-dispatch"],
      functionsEnvironment: {
        MAIL_URL: `http://:the-key@127.0.0.1:${(provider.address() as AddressInfo).port}/emails`,
        MAIL_FROM,
      },
    });
    world = mailWorld(stack);
    await world.enable();
  });
  afterAll(async () => {
    await stack?.remove();
    provider.closeAllConnections();
    provider.close();
  });

  test("a provider that asks for a pause is left alone for so long, and the repeat is known", async () => {
    const [author] = (await world.confirmed()) as [Person];
    answers = [{ status: 429, headers: { "Retry-After": "2" } }];
    await world.changeStatus(await world.submit(author), "planned");
    await until(() => heard.length === 1);
    await until(async () => (await world.queued(author))[0]?.status === "pending");
    await until(async () => {
      await world.retryNow();
      await sleep(50);
      return heard.length === 2;
    });
    const [first, second] = heard as [(typeof heard)[number], (typeof heard)[number]];
    expect(second.at - first.at).toBeGreaterThanOrEqual(1900);
    expect(first.headers.authorization).toBe("Bearer the-key");
    expect(first.headers["idempotency-key"]).toBe(second.headers["idempotency-key"]);
    expect(first.body).toMatchObject({ from: `"Own" <${MAIL_FROM}>`, to: [author.email] });
  });

  test("an address that the provider does not take fails, and nothing else", async () => {
    const [author] = (await world.confirmed()) as [Person];
    const id = await world.submit(author);
    answers = [{ status: 422 }];
    await world.changeStatus(id, "planned");
    await until(async () => (await world.queued(author))[0]?.status === "failed");
    await world.changeStatus(id, "completed");
    await until(async () => (await world.queued(author))[1]?.status === "sent");
  });
});

describe("for any events and choices", () => {
  let server: MailServer;
  let stack: OwnStack;
  let world: ReturnType<typeof mailWorld>;

  beforeAll(async () => {
    server = await startMailServer();
    stack = await startOwnStack({
      parts: ["mail-dispatch"],
      functionsEnvironment: { MAIL_URL: server.url, MAIL_FROM },
    });
    world = mailWorld(stack);
    await world.enable();
  });
  afterAll(async () => {
    await stack?.remove();
    await server?.stop();
  });

  const timing = fc.constantFrom("at_once", "daily", "never");
  const event = fc.record({ kind: fc.constantFrom("status", "comment", "reply"), by: fc.nat(2) });
  const choice = fc.record({ who: fc.nat(2), kind: fc.constantFrom("status", "comment", "reply"), timing });

  test("nobody is told what they declined or did, and everybody once what they asked for", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(choice, { maxLength: 6 }),
        fc.array(event, { minLength: 1, maxLength: 6 }),
        async (choices, events) => {
          const people = await world.confirmed(3);
          const at = (n: number) => people[n] as Person;
          const chosen = new Map<string, string>();
          for (const { who, kind, timing } of choices) {
            await world.choose(at(who), kind, timing);
            chosen.set(`${who} ${kind}`, timing);
          }
          const id = await world.submit(at(0));
          await world.follow(id, people.slice(1));
          const root = await world.comment(id, at(1), "root");
          const told = [{ body: "root", by: 1, kind: "comment", of: -1 }];
          let status = "planned";
          for (const [n, { kind, by }] of events.entries()) {
            const body = `event-${n}`;
            if (kind === "status") {
              await world.changeStatus(id, status, body, at(by));
              status = status === "planned" ? "in_progress" : "planned";
            } else await world.comment(id, at(by), body, kind === "reply" ? root : undefined);
            told.push({ body, by, kind, of: kind === "reply" ? 1 : -1 });
          }
          await world.drained();
          await world.digestNow();
          await world.drained();
          for (const [n, { email }] of people.entries()) {
            const texts = server.to(email).map(({ text }) => text ?? "");
            for (const { body, by, kind, of } of told) {
              // A reply notifies the author of its parent comment; for others it is an ordinary comment.
              const own = kind === "reply" && of !== n ? "comment" : kind;
              const when = chosen.get(`${n} ${own}`) ?? (own === "comment" ? "daily" : "at_once");
              const times = texts.filter((text) => new RegExp(`^> ${body}$`, "m").test(text)).length;
              // A digest shows three events of a submission, and the number of the remaining ones.
              const isHidden = when === "daily" && times === 0 && texts.some((text) => /more on the board/.test(text));
              if (!isHidden) expect(times, `${body} to ${n}`).toBe(by === n || when === "never" ? 0 : 1);
            }
          }
        },
      ),
      { numRuns: 12 },
    );
  });
});
