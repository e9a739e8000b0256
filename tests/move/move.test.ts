import { type ChildProcess, spawn } from "node:child_process";
import { createHmac, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import type postgres from "postgres";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeTemporaryFolder } from "../../local/folders/temporary-folder.ts";
import { changeEnvFile, digestOf, parseSecrets } from "../../local/operator/deploy/env-file.ts";
import { move } from "../../local/operator/move/move.ts";
import { type Place, project, sourceFolder, targetFolder } from "../../local/operator/move/places.ts";
import { withDatabase } from "../../local/postgres/database.ts";
import { defaultMigrations, root } from "../../local/postgres/database-server.ts";
import { type Stack, startStack } from "../../local/stack.ts";
import { unsynced } from "../data-template.ts";
import { type OwnStack, startOwnStack } from "../own-stack.ts";
import { standIn } from "../stack/auth-stand-in.ts";
import { until } from "../until.ts";
import { newVisitor } from "../web/pages.ts";
import { type Receiver, startReceiver } from "../webhooks/receivers.ts";

// A data folder with the built-in auth; a project with hosted's tables of auth and roles, without a superuser; and back.

let folder: string;
let source: OwnStack;
let target: OwnStack;
let receiver: Receiver;
let webhookSecret: string;
let key: string;
let tokens: string[];
let submission: string;
let logo: string;
const files = new Map<string, Buffer>();
let storage: ReturnType<typeof createServer>;
const password = "correct horse battery";
const emails = ["olive@move.example", "pia@move.example"];
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const kept = {
  WEBHOOK_SECRETS_KEYS: "webhook_secrets_key",
  MAIL_LINK_KEYS: "mail_link_key",
  ADDRESS_HASH_KEY: "address_hash_key",
};
const secretsOf = async (dataDir: string) => {
  const secrets = JSON.parse(await readFile(join(dataDir, "secrets.json"), "utf8"));
  return Object.fromEntries(Object.entries(kept).map(([variable, name]) => [variable, secrets[name] as string]));
};

const auth = (stack: Stack, path: string, body: object) =>
  fetch(`${stack.supabase_url}/auth/v1/${path}`, {
    method: "POST",
    headers: { apikey: stack.publishable_key, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
const tokenOf = async (stack: Stack, email: string) =>
  ((await (await auth(stack, "token?grant_type=password", { email, password })).json()) as { access_token: string })
    .access_token;

beforeAll(async () => {
  folder = await makeTemporaryFolder("move");
  await mkdir(join(folder, "program"));
  receiver = await startReceiver();
  const allowed = { WEBHOOK_ALLOWED_HOSTS: "127.0.0.1" };
  source = await startOwnStack({ parts: ["auth", "rest", "web"], functionsEnvironment: allowed });
  target = await startOwnStack({
    parts: ["web", "webhook-dispatch"],
    withOrganization: false,
    migrations: defaultMigrations,
    authProgram: await standIn(join(folder, "program")),
    functionsEnvironment: { ...allowed, ...(await secretsOf(source.folder)) },
  });
  // As supautils does on Supabase.
  await withDatabase(target.superuserUrl, (sql) => sql`grant set on parameter session_replication_role to postgres`);
  // A stand-in for Supabase Storage.
  storage = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.headers.authorization !== "Bearer sb_secret_test") return void response.writeHead(401).end("{}");
    const path = (request.url ?? "").replace(/^\/storage\/v1\/(object\/)?(authenticated\/)?/, "");
    if (request.method === "POST") files.set(path, Buffer.concat(chunks));
    const found = files.get(path);
    response.writeHead(found ? 200 : 400).end(found ?? '{"error":"not_found"}');
  }).listen(0, "127.0.0.1");
  await once(storage, "listening");
  process.env.SUPABASE_URL = `http://127.0.0.1:${(storage.address() as AddressInfo).port}`;
  process.env.SUPABASE_SECRET_KEY = "sb_secret_test";

  for (const email of emails) expect((await auth(source, "signup", { email, password })).status).toBe(200);
  tokens = await Promise.all(emails.map((email) => tokenOf(source, email)));
  await source.sql`insert into public.memberships (organization_id, user_id, role)
    select ${source.organization.id}, id, 'owner' from auth.users where email = ${emails[0] ?? ""}`;
  key = await source.key(["submissions:read", "webhooks:read", "webhooks:write"]);
  const made = await source.call("POST", `/api/organizations/${source.organization.id}/webhooks`, {
    token: key,
    body: { url: receiver.url, events: ["comment.created"] },
  });
  expect(made.status, made.text).toBe(201);
  webhookSecret = String(made.body.data?.secret);
  const [person] = await source.sql<{ id: string }[]>`select id from auth.users where email = ${emails[1] ?? ""}`;
  submission = await source.submission({ id: person?.id ?? "" } as never);
  const put = await fetch(`${source.base_url}/api/organizations/${source.organization.id}/logo`, {
    method: "PUT",
    headers: { authorization: `Bearer ${tokens[0]}`, "content-type": "image/png" },
    body: new Uint8Array(png),
  });
  expect(put.status).toBe(200);
  const [organization] = await source.sql<{ logo_url: string }[]>`select logo_url from public.organizations`;
  logo = organization?.logo_url ?? "";
}, 240_000);

afterAll(async () => {
  delete process.env.SUPABASE_URL;
  delete process.env.SUPABASE_SECRET_KEY;
  storage?.close();
  await receiver?.close();
  await Promise.all([source?.remove(), target?.remove()]);
  await rm(folder, { recursive: true, force: true });
});

const comment = (stack: OwnStack, token: string | undefined, body: string) =>
  stack.call("POST", `/api/submissions/${submission}/comments`, { token, body: { body } });
const envFile = () => join(folder, "feedback.env");
const tried = async (given: Partial<Parameters<typeof move>[0]> & { url?: string } = {}) => {
  const lines: string[] = [];
  const from = await sourceFolder(source.folder);
  const to = project(given.url ?? target.db_url, envFile());
  const log = (line: string) => lines.push(line);
  const problem = await move({ source: from, target: to, log, ...given }).then(
    () => "",
    (error: Error) => error.message,
  );
  return { problem, lines, text: lines.join("\n") };
};

/** Every row of every table, except those that reads and the schedule write. */
async function contentOf(sql: postgres.Sql): Promise<Record<string, string>> {
  const tables = await sql<{ name: string }[]>`select format('%I.%I', schemaname, tablename) as name from pg_tables t
    where schemaname in ('public', 'private', 'auth', 'auth_limits') and tablename !~ '(counters|sessions|refresh_tokens|_activity|_days|_zones|_statistics|_subtotals|broadcast_cursor)$'`;
  const found: Record<string, string> = {};
  for (const { name } of tables) {
    const [row] = await sql.unsafe(
      `select coalesce(md5(string_agg(t::text, '|' order by t::text)), '') as hash from ${name} t`,
    );
    found[name] = row?.hash;
  }
  const sequences =
    await sql`select schemaname || '.' || sequencename as name, last_value::text as last from pg_sequences`;
  for (const { name, last } of sequences) found[name] = last;
  return found;
}

test("a rehearsal changes nothing on both sides but the secrets in feedback.env, which only its owner reads", async () => {
  await writeFile(envFile(), "SITE_URL=https://feedback.example\nMAIL_LINK_KEYS=first:old\n");
  const before = [await contentOf(source.sql), await contentOf(target.sql)];
  const { problem, text } = await tried({ rehearse: true });
  expect(problem).toBe("");
  expect(text).toMatch(/same on both sides: \d+ tables with \d+ rows/);
  expect([await contentOf(source.sql), await contentOf(target.sql)]).toEqual(before);
  expect(files.size).toBe(0);
  const written = await readFile(envFile(), "utf8");
  expect(parseSecrets(written)).toEqual({ SITE_URL: "https://feedback.example", ...(await secretsOf(source.folder)) });
  expect((await stat(envFile())).mode & 0o777).toBe(0o600);
  for (const secret of Object.values(await secretsOf(source.folder))) expect(text).not.toContain(secret);
  expect((await comment(source, tokens[1], "after the rehearsal")).status).toBe(201);
});

test("a move begins when feedback.env has the secrets", async () => {
  await rm(envFile());
  expect((await tried()).problem).toMatch(/has the secrets of the source now: give them to the functions/);
  expect(parseSecrets(await readFile(envFile(), "utf8"))).toEqual(await secretsOf(source.folder));
});

const withUser = (name: string) => {
  const url = new URL(target.db_url);
  url.username = name;
  return url.href;
};
const otherPort = (port: number) => {
  const url = new URL(target.db_url);
  url.port = String(port);
  return url.href;
};

test.each<[string, () => Parameters<typeof tried>[0], RegExp]>([
  [
    "a wrong password",
    () => ({ url: target.db_url.replace(/:[^:@]+@/, ":wrong@") }),
    /^the database of the target: password authentication failed for user/,
  ],
  ["a port without a database", () => ({ url: otherPort(1) }), /^the database of the target: connect ECONNREFUSED/],
  [
    "another role",
    () => ({ url: withUser("feedback_api") }),
    /^the database of the target: password authentication failed for user/,
  ],
])("%s is one sentence without the password", async (_, given, sentence) => {
  const { problem, text } = await tried(given());
  expect(problem).toMatch(sentence);
  expect(problem + text).not.toContain(new URL(target.db_url).password);
});

test.each<[string, (sql: postgres.Sql) => Promise<unknown>, (sql: postgres.Sql) => Promise<unknown>, RegExp]>([
  [
    "with an organization",
    (sql) => sql`insert into public.organizations (slug, name, is_default) values ('taken', 'Taken', false)`,
    () =>
      withDatabase(target.superuserUrl, (sql) =>
        sql.unsafe("set session_replication_role = replica; truncate public.organizations cascade"),
      ),
    /has 1 organizations and 0 accounts/,
  ],
  [
    "with an account",
    (sql) => sql`insert into auth.users (id, email) values (gen_random_uuid(), 'x@move.example')`,
    (sql) => sql`delete from auth.users`,
    /has 0 organizations and 1 accounts/,
  ],
  [
    "of another release",
    (sql) => sql`insert into supabase_migrations.schema_migrations (version) values ('99990101000000')`,
    (sql) => sql`delete from supabase_migrations.schema_migrations where version = '99990101000000'`,
    /target has migration 99990101000000, newer than this release/,
  ],
  [
    "that takes no row, which it says after the last one",
    (sql) => sql`alter table public.organizations add constraint takes_none check (false)`,
    (sql) => sql`alter table public.organizations drop constraint takes_none`,
    /violates check constraint "takes_none"/,
  ],
])("a target %s is refused", async (_, spoil, mend, sentence) => {
  await spoil(target.sql);
  const { problem } = await tried();
  await mend(target.sql);
  expect(problem).toMatch(sentence);
});

test("one byte that changes on the way is found, and nothing was moved", async () => {
  const { hostname, port } = new URL(target.db_url);
  const proxy = createTcpServer((near) => {
    const far = connect(Number(port), hostname);
    const swap = (data: Buffer) => Buffer.from(data.toString("latin1").replace("olive@move", "olivf@move"), "latin1");
    near
      .on("data", (data) => far.write(swap(data)))
      .on("close", () => far.destroy())
      .on("error", () => undefined);
    far.pipe(near);
    far.on("error", () => undefined);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const before = await contentOf(target.sql);
  const { problem } = await tried({ url: otherPort((proxy.address() as AddressInfo).port) });
  proxy.close();
  expect(problem).toMatch(/^auth\.identities differs: 2 rows with checksum -?\d+ at the source, 2 with/);
  expect(await contentOf(target.sql)).toEqual(before);
  expect((await comment(source, tokens[1], "after the changed byte")).status).toBe(201);
});

test("options that npm takes for itself do not make a move of a rehearsal", async () => {
  const command = [
    "--import",
    join(root, "node_modules/tsx/dist/esm/index.mjs"),
    join(root, "local/operator/move/move.ts"),
  ];
  const child = spawn(process.execPath, [...command, otherPort(1)], {
    cwd: folder,
    env: { ...process.env, npm_config_rehearse: "true" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let output = "";
  child.stderr?.on("data", (data) => {
    output += data;
  });
  const [code] = await once(child, "close");
  expect(code).toBe(1);
  expect(output).toContain("npm run move -- <URL");
});

test.each(["http://postgres@127.0.0.1/postgres", "postgresql://postgres:50%off@127.0.0.1/postgres"])(
  "%s is refused without a connection",
  (url) => {
    expect(() => project(url)).toThrow("the database's URL is not postgresql://");
  },
);

test("the secrets of another project's feedback.env are not replaced", async () => {
  const [own, other] = ["a".repeat(20), "b".repeat(20)];
  const file = join(folder, "other.env");
  await writeFile(file, `DATABASE_URL=postgresql://feedback_api.${other}:x@pooler.supabase.com:6543/postgres\n`);
  const ofUrl = (url: string) => project(url, file).secrets();
  await expect(ofUrl(`postgresql://postgres@db.${own}.supabase.co/postgres`)).rejects.toThrow(
    `another project (${other})`,
  );
  expect(await ofUrl(`postgresql://postgres@db.${other}.supabase.co/postgres`)).toEqual({});
});

test("a secret that the functions do not have yet does not count, as far as a deployment noted", async () => {
  const file = join(folder, "noted.env");
  const values = await secretsOf(source.folder);
  await changeEnvFile(file, { values, deployed: { MAIL_LINK_KEYS: digestOf("first:old") } });
  const { MAIL_LINK_KEYS, ...others } = values;
  expect(await project(target.db_url, file).secrets()).toEqual(others);
  await changeEnvFile(file, { deployed: { MAIL_LINK_KEYS: digestOf(MAIL_LINK_KEYS ?? "") } });
  expect(await project(target.db_url, file).secrets()).toEqual(values);
});

test("a move that was interrupted before it began does not begin", async () => {
  expect((await tried({ signal: AbortSignal.abort() })).problem).toMatch(/^interrupted: nothing was moved/);
});

test("a key that changes after the comparison is not lost: nothing was moved", async () => {
  const from = await sourceFolder(source.folder);
  const whole: Place = {
    ...from,
    async read(path) {
      // Without the audit's trigger, whose table is locked.
      await withDatabase(source.superuserUrl, (sql) =>
        sql.unsafe("set session_replication_role = replica; update private.api_keys set name = 'Changed'"),
      );
      return from.read(path);
    },
  };
  expect((await tried({ source: whole })).problem).toMatch(/^private\.api_keys differs: 1 rows/);
  expect((await comment(source, tokens[1], "after the key")).status).toBe(201);
});

const cut = (sql: postgres.Sql) => sql`select pg_terminate_backend(pid) from pg_stat_activity
  where application_name = 'launcher' and xact_start is not null and pid <> pg_backend_pid()
    and query not like '%pg_stat_activity%'`;
const faults: Record<string, () => Promise<unknown>> = {
  "the target's connection ends": () => withDatabase(target.superuserUrl, cut),
  "the source's connection ends": () => withDatabase(source.superuserUrl, cut),
};
const places = ["while tables are copied", "after the comparison"];

test.each(Object.keys(faults).flatMap((fault) => places.map((place) => [fault, place] as const)))(
  "%s %s: the target is as it was, and the source is open",
  async (fault, place) => {
    const before = await contentOf(target.sql);
    const from = await sourceFolder(source.folder);
    const whole: Place = {
      ...from,
      async read(path) {
        if (place === "after the comparison") await faults[fault]?.();
        return from.read(path);
      },
    };
    const log = (line: string) => {
      if (place === "while tables are copied" && line.includes("auth.users")) void faults[fault]?.();
    };
    expect((await tried({ source: whole, log })).problem).not.toBe("");
    expect(await contentOf(target.sql)).toEqual(before);
    await until(async () => (await comment(source, tokens[1], `after ${randomUUID()}`)).status === 201);
  },
);

test.each(["SIGINT", "SIGKILL"] as const)(
  "after %s to the command the target is as it was, and the source is open",
  async (signal) => {
    const before = await contentOf(target.sql);
    const command = join(root, "local/operator/move/move.ts");
    const environment = { ...process.env, DATA_DIR: source.folder, PGPASSWORD: new URL(target.db_url).password };
    const child: ChildProcess = spawn(
      process.execPath,
      ["--import", join(root, "node_modules/tsx/dist/esm/index.mjs"), command, target.db_url.replace(/:[^:@]+@/, "@")],
      { cwd: folder, env: environment, stdio: ["ignore", "pipe", "pipe"] },
    );
    let output = "";
    child.stdout?.on("data", (data) => {
      output += data;
      if (output.includes("auth.users")) child.kill(signal);
    });
    child.stderr?.on("data", (data) => {
      output += data;
    });
    await once(child, "close");
    expect(output).toContain("auth.users");
    if (signal === "SIGINT") expect(output).toContain("interrupted: nothing was moved, and the source is open");
    await until(async () => (await comment(source, tokens[1], `after ${signal}`)).status === 201);
    expect(await contentOf(target.sql)).toEqual(before);
  },
);

test("a move refuses writes and no reads meanwhile, loses none, and its target goes on", async () => {
  let isMoving = true;
  const accepted: string[] = [];
  const statuses = { comments: new Set<number>(), signIns: new Set<number>(), reads: new Set<number>() };
  // The limits are about people, and stay in force.
  await source.sql`update private.rate_limit_rules set max_requests = 100000`;
  const writing = (async () => {
    while (isMoving) {
      const body = `comment ${randomUUID()}`;
      const { status } = await comment(source, tokens[1], body);
      statuses.comments.add(status);
      if (status === 201) accepted.push(body);
    }
  })();
  const others = (async () => {
    while (isMoving) {
      const read = [
        await source.call("GET", `/api/submissions/${submission}`, { token: tokens[1] }),
        await source.call("GET", "/api/submissions", { token: key }),
        await fetch(`${source.site_url}/submissions/${submission}`),
        await fetch(`${source.supabase_url}/rest/v1/submissions?select=id`, {
          headers: { apikey: source.publishable_key },
        }),
      ];
      for (const { status } of read) statuses.reads.add(status);
      statuses.signIns.add((await auth(source, "token?grant_type=password", { email: emails[0], password })).status);
    }
  })();
  await until(() => accepted.length > 0 && statuses.signIns.has(200));
  const { problem, text } = await tried();
  expect(problem).toBe("");
  expect(text).toContain("is read-only until npm run move -- --reopen");
  await comment(source, tokens[1], "after the end");
  isMoving = false;
  await Promise.all([writing, others]);
  expect([...statuses.comments].sort()).toEqual([201, 503]);
  expect([...statuses.signIns].sort()).toEqual([200, 503]);
  expect([...statuses.reads]).toEqual([200]);
  const moved = await target.sql<{ body: string }[]>`select body from public.comments`;
  expect(moved.map(({ body }) => body)).toEqual(expect.arrayContaining(accepted));
  expect(moved.map(({ body }) => body)).not.toContain("after the end");
}, 240_000);

test("at the target keys, webhooks, links in mails, logos and realtime work as before", async () => {
  expect((await target.call("GET", "/api/submissions", { token: key })).status).toBe(200);
  const [account] =
    await target.sql`select instance_id::text, aud, confirmation_token, encrypted_password like '$2%' as has_password
    from auth.users where email = ${emails[0] ?? ""}`;
  expect(account).toEqual({
    instance_id: "00000000-0000-0000-0000-000000000000",
    aud: "authenticated",
    confirmation_token: "",
    has_password: true,
  });
  // The events of the source that it had not sent, once each and signed with its secret, and a new one after them.
  const sent = await target.sql`select count(*)::integer as events from private.outbox where type = 'comment.created'`;
  const [person] = await target.sql<{ id: string }[]>`select id from auth.users where email = ${emails[1] ?? ""}`;
  await target.sql`insert into public.comments ${target.sql({ organization_id: source.organization.id, submission_id: submission, author_id: person?.id ?? "", body: "new" } as never)}`;
  const heard = await until(() => receiver.heard.length > sent[0]?.events && receiver.heard);
  expect([...receiver.counts().values()].every((count) => count === 1)).toBe(true);
  const last = heard.at(-1);
  new Webhook(webhookSecret).verify(last?.raw.toString() ?? "", last?.headers as Record<string, string>);

  // A link as in the source's mails.
  const [keyId = "", encoded = ""] = (await secretsOf(source.folder)).MAIL_LINK_KEYS?.split(":") ?? [];
  const link = [person?.id, source.organization.id, "status", Math.floor(Date.now() / 1000)].join(" ");
  const payload = Buffer.from(link).toString("base64url");
  const mac = createHmac("sha256", Buffer.from(encoded, "base64url"));
  const signature = mac.update(`mail preferences\n${keyId}\n${payload}`).digest("base64url");
  const page = await fetch(`${target.site_url}/unsubscribe?token=${keyId}.${payload}.${signature}`);
  expect(page.status).toBe(200);

  expect(files.get(logo.slice(1))).toEqual(png);
  const published = await target.sql`select tablename from pg_publication_tables where pubname = 'supabase_realtime'`;
  expect(published.map(({ tablename }) => tablename)).toContain("submissions");
});

test("the source stays read-only until it is reopened", async () => {
  expect((await comment(source, tokens[1], "late")).status).toBe(503);
  expect((await tried()).problem).toMatch(/was moved already: --reopen opens it again/);
  const { reopen } = await import("../../local/operator/move/freeze.ts");
  await withDatabase(source.db_url, reopen);
  expect((await comment(source, tokens[1], "reopened")).status).toBe(201);
});

test("and back: into a new data folder, where people sign in with their passwords", async () => {
  const dataDir = join(folder, "back");
  const back = async () => {
    const to = await targetFolder(dataDir);
    return move({ source: project(target.db_url, envFile()), target: to, log: () => undefined }).then(
      () => to.close?.(),
      async (error: Error) => {
        await to.close?.();
        return error.message;
      },
    );
  };
  // Its form is that of an account that was imported from elsewhere.
  const foreign = async (from: string, to: string) =>
    target.sql`update auth.users set encrypted_password = replace(encrypted_password, ${from}, ${to})`;
  await foreign("$2b$", "$argon2id$");
  expect(await back()).toMatch(/^2 passwords of the source are in a form that the auth of the target cannot check/);
  await foreign("$argon2id$", "$2b$");
  // As after a move to it, and never used.
  await withDatabase(target.superuserUrl, (sql) => sql`alter sequence private.merges_place_seq restart with 1000`);
  await back();
  const settings = {
    port: 0,
    dbPort: 0,
    seed: "none" as const,
    parts: ["auth", "web"] as const,
    postgresSettings: unsynced,
  };
  const again = await startStack({ ...settings, dataDir });
  try {
    expect(await secretsOf(dataDir)).toEqual(await secretsOf(source.folder));
    for (const email of emails)
      expect((await auth(again, "token?grant_type=password", { email, password })).status).toBe(200);
    const picture = await fetch(again.site_url + logo);
    expect(Buffer.from(await picture.arrayBuffer())).toEqual(png);
    const visitor = newVisitor([], again.site_url);
    const signedIn = await visitor.post("/sign-in", { email: emails[0] ?? "", password });
    expect(signedIn.status).toBe(303);
    await withDatabase(again.db_url, async (sql) => {
      const ahead = await sql`select from private.outbox where xid >= pg_snapshot_xmax(pg_current_snapshot())`;
      expect(ahead).toHaveLength(0);
      expect((await sql`select last_value::text as next from private.merges_place_seq`)[0]?.next).toBe("1000");
    });
  } finally {
    await again.stop();
  }
}, 240_000);
