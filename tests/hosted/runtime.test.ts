import { createHmac, randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent, createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { messagesOf } from "../../functions/words/index.ts";
import { denoProgram, type Functions } from "../../local/functions/process.ts";
import { createApiKey } from "../../local/operator/api-keys.ts";
import { bundleFunctions } from "../../local/operator/bundle.ts";
import { checkDeployment, type Finding, look } from "../../local/operator/deploy/check.ts";
import type { Project as CheckedProject } from "../../local/operator/deploy/checks.ts";
import { parseSecrets } from "../../local/operator/deploy/env-file.ts";
import { withDatabase } from "../../local/postgres/database.ts";
import { send } from "../http.ts";
import { startMailServer } from "../mail/smtp.ts";
import { until } from "../until.ts";
import { startReceiver } from "../webhooks/receivers.ts";
import { type Project, type Run, startProject } from "./project.ts";

// Hosted Supabase's edge runtime is based on Deno 2.1.
const hosted = denoProgram("deno-2.1");
let project: Project;
let bundles: string;
let organization: string;
let person: string;

beforeAll(async () => {
  bundles = await mkdtemp(join(tmpdir(), "feedback-bundles-"));
  [project] = await Promise.all([startProject(), bundleFunctions(bundles)]);
  // A folder without an import map and packages.
  await writeFile(join(bundles, "deno.json"), "{}");
  person = randomUUID();
  await project.sql`insert into auth.users (id, email, aud, role) values (${person}, 'ada@test.example', 'authenticated', 'authenticated')`;
  const [created] = await project.sql<{ id: string }[]>`
    insert into public.organizations (slug, name, is_default) values ('acme', 'Acme', true) returning id`;
  organization = created?.id ?? "";
});

afterAll(async () => {
  await project?.remove();
  await rm(bundles, { recursive: true, force: true });
});

const agent = new Agent();
const call = (to: Functions, method: string, path: string, token?: string, body?: unknown) =>
  send(method, `http://127.0.0.1:${to.port}${path}`, { agent, token, body }) as Promise<{
    status: number;
    text: string;
    // biome-ignore lint/suspicious/noExplicitAny: tests/api checks the shapes
    body: any;
  }>;

const runs: [string, () => Run][] = [
  ["sources on Deno 2.1", () => ({ program: hosted })],
  ["bundles on Deno 2.1", () => ({ program: hosted, bundles })],
  ["bundles on the current Deno", () => ({ program: denoProgram(), bundles })],
];

describe.each(runs)("%s, with the variables of step 4 and TLS", (_, how) => {
  test("send mail by SMTP", async () => {
    const server = await startMailServer();
    const mailer = await project.start("mail-dispatch", { ...how(), environment: { MAIL_URL: server.url } });
    try {
      const { sql } = project;
      const email = `${randomUUID()}@author.example`;
      await sql`update public.organizations set mail_enabled = true where id = ${organization}`;
      const [author] = await sql`
        insert into public.profiles (kind, organization_id, email) values ('email', ${organization}, ${email}) returning id`;
      const [created] = await sql`
        insert into public.submissions (organization_id, author_id, title, description, type)
        values (${organization}, ${author?.id}, 'Rooms by floor', 'A list of rooms for each floor.', 'idea') returning id`;
      await sql`
        insert into public.status_changes (organization_id, submission_id, new_status)
        values (${organization}, ${created?.id}, 'completed')`;
      const secret = project.environment.WEBHOOK_DISPATCH_SECRET ?? "";
      expect(await call(mailer, "POST", "/mail-dispatch", "wrong")).toMatchObject({ status: 401 });
      expect(await call(mailer, "POST", "/mail-dispatch", secret)).toMatchObject({ status: 202 });
      const mail = await until(() => server.to(email)[0]);
      expect(mail.subject).toBe("Completed: Rooms by floor");
      expect(mail.text).toContain("https://feedback.example/unsubscribe?token=");
    } finally {
      await mailer.stop();
      await server.stop();
    }
  });

  test("send auth's mail for its hook", async () => {
    const server = await startMailServer();
    const [key, next] = [Buffer.from("a secret of the hook"), Buffer.from("the one after it")];
    const secretOf = (bytes: Buffer) => `v1,whsec_${bytes.toString("base64")}`;
    const hook = await project.start("auth-mail", {
      ...how(),
      environment: { MAIL_URL: server.url, AUTH_MAIL_SECRET: `${secretOf(key)}|${secretOf(next)}` },
    });
    try {
      const email = `${randomUUID()}@person.example`;
      const body = JSON.stringify({
        user: { email, user_metadata: { locale: "it" } },
        email_data: { email_action_type: "magiclink", token: "123456", token_hash: "abc", redirect_to: "" },
      });
      const timestamp = String(Math.floor(Date.now() / 1000));
      const signature = (bytes: Buffer) =>
        `v1,${createHmac("sha256", bytes).update(`msg_1.${timestamp}.${body}`).digest("base64")}`;
      const ask = (signed: string) =>
        fetch(`http://127.0.0.1:${hook.port}/auth-mail`, {
          method: "POST",
          headers: { "webhook-id": "msg_1", "webhook-timestamp": timestamp, "webhook-signature": signed },
          body,
        });
      expect((await ask("v1,forged")).status).toBe(401);
      expect((await ask(signature(Buffer.from("of nobody")))).status).toBe(401);
      // Each of the function's two secrets is accepted; the second call repeats the first.
      expect((await ask(signature(key))).status).toBe(200);
      expect((await ask(signature(next))).status).toBe(200);
      const mail = await until(() => server.to(email)[0]);
      expect(mail.subject).toBe(messagesOf("it").authMail.magiclink.subject);
      expect(mail.text).toContain("https://feedback.example/auth/confirm?token_hash=abc&type=magiclink");
    } finally {
      await hook.stop();
      await server.stop();
    }
  });

  test("serve lists, votes, keys and webhooks", async () => {
    const [api, dispatcher, receiver] = await Promise.all([
      project.start("api", how()),
      project.start("webhook-dispatch", how()),
      startReceiver(),
    ]);
    try {
      const key = await createApiKey(project.sql, organization, "k", ["submissions:write", "webhooks:write"], null);
      const webhook = { url: receiver.url, events: ["submission.created"] };
      expect(await call(api, "POST", `/api/organizations/${organization}/webhooks`, key, webhook)).toMatchObject({
        status: 201,
      });
      const idea = { type: "idea", title: "Rooms by floor", description: "A list of rooms for each floor." };
      const submitted = await call(api, "POST", "/api/submissions", key, idea);
      expect(submitted.status).toBe(201);

      const list = await call(api, "GET", "/api/submissions");
      expect(list.body).toMatchObject({ data: expect.arrayContaining([expect.objectContaining(idea)]) });

      const votes = `/api/submissions/${submitted.body.id}/vote`;
      for (const [name, signingKey] of Object.entries(project.keys)) {
        const vote = await call(api, "POST", votes, await project.signIn(person, signingKey));
        expect([name, vote.body.data?.vote_count]).toEqual([name, 2]);
      }

      const secret = project.environment.WEBHOOK_DISPATCH_SECRET ?? "";
      expect(await call(dispatcher, "POST", "/webhook-dispatch", secret)).toMatchObject({ status: 202 });
      const [delivered] = await until(() => (receiver.heard.length > 0 ? receiver.heard : undefined));
      expect(delivered?.body).toMatchObject({ event: "submission.created" });

      const logins = await project.sql`
        select distinct a.application_name, s.ssl, s.version from pg_stat_activity a join pg_stat_ssl s using (pid)
        where a.application_name like 'feedback-%' order by 1`;
      expect([...logins]).toEqual([
        { application_name: "feedback-functions", ssl: true, version: "TLSv1.3" },
        { application_name: "feedback-webhooks", ssl: true, version: "TLSv1.3" },
      ]);
    } finally {
      await Promise.all([api.stop(), dispatcher.stop(), receiver.close()]);
      await project.sql`delete from private.webhooks`;
    }
  });
});

describe.each(runs)("the pages from %s", (_, how) => {
  test("show the board, its stylesheet and its script", async () => {
    const author = randomUUID();
    await project.sql`insert into auth.users (id, email, aud, role) values (${author}, ${`${author}@test.example`}, 'authenticated', 'authenticated')`;
    await project.sql`
      insert into public.submissions (organization_id, author_id, type, title, description)
      values (${organization}, ${author}, 'idea', ${`Doors of ${author}`}, 'A list of doors for each room.')`;
    const web = await project.start("web", how());
    try {
      for (const path of ["/?sort=created_at", "/web?sort=created_at"]) {
        const page = await call(web, "GET", path);
        expect(page).toMatchObject({ status: 200, headers: { "content-type": "text/html; charset=utf-8" } });
        expect(page.text).toContain(`Doors of ${author}`);
        expect(page.text).toContain('<link rel="canonical" href="https://feedback.example/');
        const assets = page.text.match(/\/assets\/[\w.-]+/g) ?? [];
        expect(assets.length).toBeGreaterThan(1);
        for (const asset of assets) expect((await call(web, "GET", asset)).status, asset).toBe(200);
      }
    } finally {
      await web.stop();
    }
  });
});

test("the log contains the connection error, and no secret", async () => {
  const url = new URL(project.environment.DATABASE_URL ?? "");
  const changed = (part: "username" | "password" | "hostname" | "port" | "pathname" | "search", value: string) => {
    const copy = new URL(url);
    copy[part] = value;
    return { DATABASE_URL: copy.href };
  };
  const faults: [RegExp, Record<string, string>][] = [
    [/28P01 password authentication failed/, changed("password", "wrong-password")],
    [/3D000 database \\"nothing\\" does not exist/, changed("pathname", "/nothing")],
    [/no connection to nowhere\.invalid:\d+: failed to lookup/, changed("hostname", "nowhere.invalid")],
    [/no connection to 127\.0\.0\.1:9: Connection refused/, changed("port", "9")],
    [/UnknownIssuer\. Set DATABASE_CA/, { DATABASE_CA: "" }],
    [/NotValidForName/, changed("hostname", "localhost")],
    [/28000 pg_hba\.conf rejects connection/, changed("search", "?sslmode=disable")],
    [/53300 too many connections for role/, changed("username", "crowded")],
  ];
  const password = decodeURIComponent(url.password);
  await project.sql.unsafe(`create role crowded login connection limit 0 password '${password}'`);
  await Promise.all(
    faults.map(async ([cause, environment]) => {
      const api = await project.start("api", { program: hosted, bundles, environment });
      try {
        for (let calls = 0; calls < 3; calls++) expect((await call(api, "GET", "/api/submissions")).status).toBe(503);
        expect((await call(api, "GET", "/api/ready")).body).toMatchObject({ database: "unreachable" });
        // The test's process writes the log file: a line may follow its response. On a busy machine a
        // connection may have been abandoned after 5 s, before its error was known: the next one logs it.
        const log = await until(async () => {
          const text = await api.log();
          if (cause.test(text)) return text;
          await call(api, "GET", "/api/submissions");
        });
        expect(log.match(new RegExp(cause, "g"))?.length, log).toBe(1);
        for (const secret of [password, url.password, "wrong-password"]) expect(log).not.toContain(secret);
      } finally {
        await api.stop();
      }
    }),
  );
});

test("an SSL mode that allows plain text prevents the functions from starting", async () => {
  const environment = { DATABASE_URL: `${project.environment.DATABASE_URL}`.replace("verify-full", "prefer") };
  await expect(project.start("api", { program: hosted, bundles, environment })).rejects.toThrow(
    "DATABASE_URL must have sslmode=",
  );
});

describe("the check of a deployment", () => {
  let front: Server;
  let running: Functions[];
  let target: CheckedProject;

  beforeAll(async () => {
    running = await Promise.all([
      project.start("api", { program: hosted, bundles }),
      project.start("webhook-dispatch", { program: hosted, bundles }),
    ]);
    const [api, dispatcher] = running as [Functions, Functions];
    // As on hosted Supabase, /functions/v1/<name>/… reaches the function as /<name>/….
    front = createServer((incoming, outgoing) => {
      const path = (incoming.url ?? "").replace("/functions/v1", "");
      const port = path.startsWith("/api") ? api.port : dispatcher.port;
      fetch(`http://127.0.0.1:${port}${path}`).then(
        async (answer) => outgoing.writeHead(answer.status).end(await answer.text()),
        () => outgoing.destroy(),
      );
    });
    await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
    const api_url = `http://127.0.0.1:${(front.address() as AddressInfo).port}/functions/v1/api`;
    process.env.DATABASE_CA = project.authority;
    target = { databaseUrl: `${project.ownerUrl}?sslmode=verify-full`, api: api_url, secrets: project.environment };
    await project.sql`insert into public.memberships (organization_id, user_id, role) values (${organization}, ${person}, 'owner')`;
    const setting = "alter role authenticator set pgrst.db_pre_request = 'private.before_request'";
    await withDatabase(project.superuserUrl, (sql) => sql.unsafe(setting));
    await project.sql`select vault.create_secret(${`${api_url}/../webhook-dispatch`}, 'webhook_dispatch_url'), vault.create_secret(${project.environment.WEBHOOK_DISPATCH_SECRET ?? ""}, 'webhook_dispatch_secret')`;
  });

  afterAll(async () => {
    delete process.env.DATABASE_CA;
    front?.close();
    await Promise.all(running?.map((functions) => functions.stop()) ?? []);
  });

  const failures = (findings: Finding[]) =>
    findings.filter(({ ok }) => !ok).map(({ step, result }) => `${step} ${result}`);

  test("reports no problems when every step was followed", async () => {
    const findings = await checkDeployment(target);
    expect(failures(findings)).toEqual([]);
    expect([...new Set(findings.map(({ step }) => step))]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  test.each([
    [/^2 alter role authenticator set pgrst/, "alter role authenticator reset pgrst.db_pre_request"],
    [/^3 feedback_api has no password/, "alter role feedback_api password null"],
    [/^3 feedback_webhooks bypasses/, "alter role feedback_webhooks bypassrls"],
    [/^2 supabase_realtime lacks votes/, "alter publication supabase_realtime drop table public.votes"],
    [/^2 row-level security is off on votes/, "alter table public.votes disable row level security"],
    [/^2 realtime.messages has no policy/, 'drop policy "who may listen hears" on realtime.messages'],
    [
      /^2 .* applied, .* needed/,
      "delete from supabase_migrations.schema_migrations where version = (select max(version) from supabase_migrations.schema_migrations)",
    ],
    [
      /^7 pg_cron has no active job feedback-schedule/,
      "update cron.job set active = false where jobname = 'feedback-schedule'",
    ],
    [
      /^7 feedback-webhooks failed last: no such function/,
      `insert into cron.job_run_details (jobid, username, status, return_message)
        select jobid, username, 'failed', 'no such function' from cron.job where jobname = 'feedback-webhooks'`,
    ],
    [/^8 the Vault has no webhook_dispatch_secret/, "delete from vault.secrets where name = 'webhook_dispatch_secret'"],
    [/^8 pg_net is not created/, "drop extension pg_net"],
    [/^10 none has an owner/, "delete from public.memberships"],
  ])("reports %s", async (found, fault) => {
    // The check uses the connection of the fault, whose transaction never commits.
    await withDatabase(project.superuserUrl, async (sql) => {
      await sql`begin`;
      await sql`set local session_replication_role = replica`;
      await sql.unsafe(fault);
      const said = failures(await look({ sql, databaseUrl: target.databaseUrl, secrets: {} }));
      expect(said).toContainEqual(expect.stringMatching(found));
      await sql`rollback`;
    });
  });

  test("reports missing secrets of the functions, and invalid ones", async () => {
    const stranger = await project.start("api", {
      program: hosted,
      bundles,
      environment: { ADDRESS_HASH_KEY: "", SITE_URL: "", WEBHOOK_DISPATCH_SECRET: "" },
    });
    const secrets = {
      DATABASE_URL: `${project.environment.DATABASE_URL}`.replace(/:[^:@]+@/, ":wrong@"),
      WEBHOOK_DISPATCH_SECRET: "another",
    };
    try {
      const found = failures(
        await checkDeployment({ ...target, api: `http://127.0.0.1:${stranger.port}/api`, secrets }),
      );
      expect(found).toContainEqual(
        expect.stringMatching(/^4 the functions lack SITE_URL, ADDRESS_HASH_KEY, WEBHOOK_DISPATCH_SECRET/),
      );
      expect(found).toContainEqual(expect.stringMatching(/^8 webhook_dispatch_secret of the Vault is not/));
      expect(found).toContainEqual(expect.stringMatching(/^4 password authentication failed/));
      expect(found).toContainEqual(expect.stringMatching(/^5 .*webhook-dispatch/));
    } finally {
      await stranger.stop();
    }
  });

  test("reads an env file as the CLI does", () => {
    expect(parseSecrets('A=1\nB="x\ny"\n# C=3\nD_CA=a=b\n')).toEqual({ A: "1", B: "x\ny", D_CA: "a=b" });
    expect(parseSecrets("A=\nB=1\n")).toEqual({ A: "", B: "1" });
  });
});
