import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parseSecrets } from "../../local/operator/deploy/env-file.ts";
import { withDatabase } from "../../local/postgres/database.ts";
import { root } from "../../local/postgres/database-server.ts";
import { until } from "../until.ts";
import { type EmptyProject, startEmptyProject } from "./empty-project.ts";

// The database, the CLI and the functions are real; the Management API and auth are stand-ins. The tests are in order:
// each begins with the project of the one before.

let project: EmptyProject;
const said: string[] = [];

const deploy: EmptyProject["deploy"] = async (...how) => {
  const deployment = await project.deploy(...how);
  said.push(deployment.said, deployment.error ?? "");
  return deployment;
};
const postgresLog = () => readFile(join(project.folder, "..", "data", "postgres.log"), "utf8");
const values = async () => parseSecrets(await project.file());
const refused = async (error: RegExp, ...how: Parameters<EmptyProject["deploy"]>) => {
  const before = await project.snapshot();
  expect((await deploy(...how)).error).toMatch(error);
  expect(await project.snapshot()).toBe(before);
};
const permissions = [
  "project_admin_read",
  "api_gateway_keys_read",
  "edge_functions_read",
  "edge_functions_write",
  "edge_functions_secrets_read",
  "edge_functions_secrets_write",
  "auth_config_read",
];
const complete = { error: undefined, isComplete: true };

const ownerUrl = () =>
  `postgresql://postgres:${encodeURIComponent(project.environment.SUPABASE_DB_PASSWORD ?? "")}@${project.api.state.databaseHost}/postgres?sslmode=verify-full`;

beforeAll(async () => {
  project = await startEmptyProject();
});
afterAll(() => project?.stop());

describe("before the first deployment", () => {
  test("--plan shows every change and changes nothing", async () => {
    const before = await project.snapshot();
    const plan = await deploy(["--plan"]);
    expect(plan).toMatchObject(complete);
    for (const change of [
      "apply 2 migrations",
      "feedback.env: write",
      "password of feedback_mail",
      "deploy api",
      "Vault",
      "auth: set site_url",
      "organization Acme",
    ])
      expect(plan.said).toContain(change);
    expect(await project.snapshot()).toBe(before);
  });

  test.each<[RegExp, Record<string, string>]>([
    [/^SUPABASE_PROJECT_ID is missing: set it/, { SUPABASE_PROJECT_ID: "" }],
    [/^SUPABASE_ACCESS_TOKEN is missing: set it/, { SUPABASE_ACCESS_TOKEN: "" }],
    [/^SUPABASE_DB_PASSWORD is missing: set it/, { SUPABASE_DB_PASSWORD: "" }],
    [/^SITE_URL is missing: set it/, { SITE_URL: "" }],
    [/^MAIL_FROM is missing: set it/, { MAIL_FROM: "" }],
    [/^OWNER_EMAIL is "owner": use an email address/, { OWNER_EMAIL: "owner" }],
    [/^SITE_URL is "https:\/\/a.example\/b": set it to an address without a path/, { SITE_URL: "https://a.example/b" }],
    [/^SITE_URL is "http:\/\/127.0.0.1:1": use https/, { SITE_URL: "http://127.0.0.1:1" }],
    [/^MAIL_URL is not an address with smtps:[^#]*$/, { MAIL_URL: "smtp.example.com#key" }],
    [/SUPABASE_PROJECT_ID is not a project reference: use/, { SUPABASE_PROJECT_ID: "acme" }],
    [
      /reaches no project bcdefghijklmnopqrstu: check SUPABASE_PROJECT_ID/,
      { SUPABASE_PROJECT_ID: "bcdefghijklmnopqrstu" },
    ],
    [/SUPABASE_ACCESS_TOKEN is wrong or expired: make one/, { SUPABASE_ACCESS_TOKEN: "sbp_0000" }],
    [/^SUPABASE_DB_PASSWORD is not the password of the database: reset it/, { SUPABASE_DB_PASSWORD: "wrong-password" }],
    [/^PROXY_PLATFORM is "fly": use cloudflare/, { PROXY_PLATFORM: "fly" }],
  ])("stops with %s", (error, environment) => refused(error, ["--yes"], { environment }));

  test("leaves the first organization to a person if no owner is named", async () => {
    const { said } = await deploy(["--plan"], { environment: { OWNER_EMAIL: "" } });
    expect(said).toMatch(/^by hand {2}organization: name the owner of the first one as OWNER_EMAIL, or move one here/m);
    expect(said).not.toMatch(/^change {3}organization/m);
  });

  test("stops where nobody can confirm the plan", () =>
    refused(/^there is no terminal to confirm the plan: pass --yes/, []));

  test("stops for a token without rights, and for a paused project", async () => {
    const { state } = project.api;
    state.permissions = ["project_admin_read"];
    await refused(/SUPABASE_ACCESS_TOKEN has no right to it: use a token with the permission/);
    delete state.permissions;
    const keys = state.apiKeys;
    state.apiKeys = keys.map((key) => (key.type === "secret" ? { ...key, api_key: "sb_secret_abcde···" } : key));
    await refused(/SUPABASE_ACCESS_TOKEN has no right to the secret key, which creates the account of owner@acme/);
    state.apiKeys = keys;
    state.status = "INACTIVE";
    await refused(/is paused: restore it in the dashboard/);
    state.status = "ACTIVE_HEALTHY";
  });

  test("stops for a project that has tables of something else", async () => {
    await project.superuser`create table public.todos (id integer)`;
    await refused(/^the project is of something else \(it has public.todos\): use one of its own/);
    await project.superuser`drop table public.todos`;
  });

  test("stops while another deployment runs", async () => {
    await withDatabase(ownerUrl(), async (sql) => {
      await sql`select pg_advisory_lock(hashtext('npm run deploy'))`;
      await refused(/^another deployment of this project is running: wait/);
      expect(await deploy(["--plan"])).toMatchObject(complete);
    });
  });

  test("connects by the pooler where the direct host is not reachable, and says so", async () => {
    const { state } = project.api;
    const [direct, pooler] = [state.databaseHost, state.pooler];
    state.databaseHost = "127.0.0.1:9";
    state.pooler = pooler.map((each) => ({ ...each, db_host: direct, db_user: "postgres" }));
    const plan = await deploy(["--plan"]);
    expect(plan).toMatchObject(complete);
    expect(plan.said).toContain(`this machine does not reach 127.0.0.1:9: connects by the pooler, ${direct}`);
    state.pooler = pooler.map((each) => ({ ...each, db_host: "127.0.0.1:9" }));
    await refused(/^this machine does not reach 127.0.0.1:9 or 127.0.0.1:9 \(.*\): allow its address/);
    Object.assign(state, { databaseHost: direct, pooler });
  });

  test("the command stops with one sentence, and status 1", async () => {
    const { PATH = "" } = process.env;
    const run = promisify(execFile)("npm", ["run", "--silent", "deploy"], { cwd: root, env: { PATH } });
    await expect(run).rejects.toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^SUPABASE_PROJECT_ID is missing: set it [^\n]*\n$/),
    });
  });
});

describe("a deployment", () => {
  test("of which the migration is interrupted is continued", async () => {
    const running = deploy();
    const ended = await until(async () => {
      const rows = await project.superuser`select pg_terminate_backend(pid) from pg_stat_activity
        where usename = 'postgres' and application_name <> 'launcher' and xact_start < now() - interval '100 milliseconds'`;
      return rows.length > 0 || undefined;
    }, 110_000);
    expect(ended).toBe(true);
    expect((await running).error).toMatch(
      /^a migration was not applied and is rolled back \(.*\): run npm run deploy again, which continues/,
    );
  });

  test("is continued after an interruption before and after each change, migrations before functions", async () => {
    const changes: string[] = [];
    let last: Awaited<ReturnType<typeof deploy>>;
    do {
      last = await deploy(["--yes"], { interruptAt: 2 });
      changes.push(...last.said.split("\n").filter((line) => line.startsWith("doing")));
    } while (last.error === "interrupted");
    expect(last).toMatchObject(complete);
    // Each change was made once.
    expect(new Set(changes).size).toBe(changes.length);
    expect(changes.length).toBeGreaterThan(10);
    const at = (text: string) => changes.findIndex((line) => line.includes(text));
    expect(at("apply")).toBeLessThan(at("deploy api"));
    expect(at("functions: set")).toBeLessThan(at("deploy api"));
    expect(at("deploy api")).toBeLessThan(at("auth: set"));
    const counts = await project.superuser`select (select count(*)::integer from public.organizations) as organizations,
      (select count(*)::integer from private.api_keys) as keys, (select count(*)::integer from auth.users) as accounts`;
    expect([...counts]).toEqual([{ organizations: 1, keys: 1, accounts: 1 }]);
  }, 600_000);

  test("changes nothing a second time, and reports that every check holds", async () => {
    const before = await project.snapshot();
    const second = await deploy(["--yes"], { environment: { OWNER_EMAIL: "" } });
    expect(second).toMatchObject(complete);
    expect(second.said).toMatch(/\nnothing to change\npages {2}https:\/\/feedback.acme.example\n/);
    expect(await project.snapshot()).toBe(before);
  });

  test("names what a person must do for the pages until they answer", async () => {
    expect((await deploy()).said).toMatch(/^by hand {2}pages: in proxy\/cloudflare, run npx wrangler deploy/m);
    const { fetch } = globalThis;
    vi.stubGlobal("fetch", async (...[input, init]: Parameters<typeof fetch>) =>
      input === "https://feedback.acme.example/health" ? new Response() : fetch(input, init),
    );
    expect((await deploy()).said).not.toContain("by hand");
    vi.unstubAllGlobals();
  });

  test("leaves files that only their owner can read, with other lines as they were", async () => {
    for (const file of ["feedback.env", "proxy/cloudflare/secret.env"])
      expect((await stat(join(project.folder, file))).mode & 0o777).toBe(0o600);
    expect(await project.file()).toMatch(/^DATABASE_CA="-----BEGIN[^"]*"\n# a comment\n/);
    expect(await readFile(join(project.folder, "proxy/cloudflare/secret.env"), "utf8")).toBe(
      `PROXY_SECRET=${(await values()).PROXY_SECRET}\n`,
    );
  });

  test("keeps redirects of others, follows a new address of the pages, and redirects to the former one no more", async () => {
    const { state } = project.api;
    state.authConfig.uri_allow_list = `${state.authConfig.uri_allow_list},https://other.example/**`;
    const environment = { SITE_URL: "https://ideas.acme.example" };
    const moved = await deploy(["--yes"], { environment });
    expect(moved).toMatchObject(complete);
    expect(moved.said).toMatch(/\nby hand {2}pages: in proxy\/cloudflare, run .*$/);
    expect(state.authConfig.uri_allow_list).toBe("https://ideas.acme.example/auth/callback,https://other.example/**");
    expect(state.authConfig.site_url).toBe("https://ideas.acme.example");
    expect(state.secrets.get("SITE_URL")).toBe("https://ideas.acme.example");
    project.environment.SITE_URL = "";
    expect((await deploy()).said).toContain("nothing to change");
  });

  test("deploys functions again that somebody else has deployed, and stops for one over the limit", async () => {
    const { state } = project.api;
    const api = state.functions.get("api") ?? {};
    for (const change of [{ verify_jwt: true }, { version: 99 }]) {
      const former = { ...api };
      Object.assign(api, change);
      expect((await deploy(["--plan"])).said).toContain("functions: deploy api");
      Object.assign(api, former);
    }
    Object.assign(api, { version: 99 });
    state.maxFunctionBytes = 1000;
    await refused(/a function is larger than Supabase takes \(5 MB\): deploy a release/);
    state.maxFunctionBytes = 5_000_000;
    const again = await deploy();
    expect(again).toMatchObject(complete);
    expect(again.said.match(/^doing.*/gm)).toEqual([expect.stringContaining("functions: deploy api")]);
  }, 600_000);
});

describe("rotation", () => {
  const current = (name: string) => project.api.state.secrets.get(name) ?? "";
  const rotate = async (...names: string[]) => {
    const former = Object.fromEntries(names.map((name) => [name, current(name)]));
    expect(await deploy(["rotate", ...names, "--yes"])).toMatchObject(complete);
    const inFile = await values();
    for (const name of names) {
      expect(current(name)).not.toBe(former[name]);
      expect(inFile[name]).toBe(current(name));
    }
    expect((await deploy()).said).toContain("nothing to change");
    return former;
  };
  const signIn = (url: string) => withDatabase(url, (sql) => sql`select`);
  const logins = ["DATABASE_URL", "WEBHOOK_DATABASE_URL", "MAIL_DATABASE_URL"];
  const keys = ["WEBHOOK_SECRETS_KEYS", "MAIL_LINK_KEYS"];

  test("ends passwords, keeps the former of keys that encrypt and sign, and replaces the Vault's secret", async () => {
    const replaced = ["ADDRESS_HASH_KEY", "WEBHOOK_DISPATCH_SECRET"];
    const former = await rotate(...logins, ...keys, ...replaced);
    for (const name of logins) {
      await expect(signIn(former[name] ?? "")).rejects.toThrow("password authentication failed");
      await signIn(current(name));
    }
    for (const name of keys) {
      expect(current(name)).toMatch(/^[0-9a-f]{8}:[\w+/]{43}=,/);
      expect(current(name).split(",").slice(1)).toEqual([former[name]]);
    }
    const [stored] = await project.superuser`select decrypted_secret from vault.decrypted_secrets
      where name = 'webhook_dispatch_secret'`;
    expect(stored?.decrypted_secret).toBe(current("WEBHOOK_DISPATCH_SECRET"));
  });

  test("of PROXY_SECRET gives the proxy the new one, and the functions both until the second time", async () => {
    const ofProxy = () => readFile(join(project.folder, "proxy/cloudflare/secret.env"), "utf8");
    const { PROXY_SECRET: former } = await rotate("PROXY_SECRET");
    const [made, kept] = current("PROXY_SECRET").split("|");
    expect([kept, await ofProxy()]).toEqual([former, `PROXY_SECRET=${made}\n`]);
    await rotate("PROXY_SECRET");
    expect([current("PROXY_SECRET"), await ofProxy()]).toEqual([made, `PROXY_SECRET=${made}\n`]);
  });

  test("of AUTH_MAIL_SECRET leaves both secrets on both sides, until the second time", async () => {
    const hook = () => project.api.state.authConfig.hook_send_email_secrets;
    const keyed = (secret: string) => createHmac("sha256", project.api.ref).update(secret).digest("hex");
    const { AUTH_MAIL_SECRET: former } = await rotate("AUTH_MAIL_SECRET");
    const both = current("AUTH_MAIL_SECRET");
    expect(both.split("|")).toEqual([expect.stringMatching(/^v1,whsec_/), former]);
    expect(hook()).toBe(keyed(both));
    await rotate("AUTH_MAIL_SECRET");
    expect(current("AUTH_MAIL_SECRET")).toBe(both.split("|")[0]);
    expect(hook()).toBe(keyed(current("AUTH_MAIL_SECRET")));
  });

  test("tries no password that the database does not know yet, since Supabase bans addresses for it", async () => {
    const refusals = async () => (await postgresLog()).split("password authentication failed").length;
    const before = await refusals();
    await rotate(...logins);
    expect(await refusals()).toBe(before);
  });

  test("by a token that may not set the functions' variables leaves them with passwords that work", async () => {
    const { state } = project.api;
    state.permissions = permissions.filter((name) => name !== "edge_functions_secrets_write");
    const { error } = await deploy(["rotate", ...logins, "--yes"]);
    expect(error).toMatch(
      /does not change the secrets of the functions: .*permission edge_functions_secrets_write, or/,
    );
    for (const name of logins) await signIn(current(name));
    delete state.permissions;
    expect(await deploy()).toMatchObject(complete);
    for (const name of logins) await signIn((await values())[name] ?? "");
  });

  test("that is only planned, or not confirmed, changes nothing", async () => {
    const before = await project.snapshot();
    const plan = await deploy(["rotate", "DATABASE_URL", "--plan"]);
    expect(plan.said).toContain("change   feedback.env: make new DATABASE_URL\n");
    expect(plan.said).toContain("change   database: set the password of feedback_api\n");
    expect(await deploy(["rotate", ...logins, ...keys], { ask: async () => "n" })).toMatchObject({ isComplete: false });
    expect(await project.snapshot()).toBe(before);
    await refused(/^there is no terminal to confirm the plan/, ["rotate", "ADDRESS_HASH_KEY"]);
  });

  test("keeps what the URL of a login has beside its password", async () => {
    const former = new URL(current("DATABASE_URL"));
    const file = join(project.folder, "feedback.env");
    const pooler = former.href.replace("sslmode=", "application_name=by_hand&sslmode=");
    await writeFile(file, (await project.file()).replace(former.href, pooler));
    await rotate("DATABASE_URL");
    const { password, href } = new URL(current("DATABASE_URL"));
    expect(password).not.toBe(former.password);
    expect(href).toBe(pooler.replace(former.password, password));
  });

  test("stops for a key that was changed on the project", async () => {
    const { secrets } = project.api.state;
    const former = current("WEBHOOK_SECRETS_KEYS");
    secrets.set("WEBHOOK_SECRETS_KEYS", "by-hand:x");
    await refused(/^WEBHOOK_SECRETS_KEYS of the project is not/, ["rotate", "WEBHOOK_SECRETS_KEYS", "--yes"]);
    secrets.set("WEBHOOK_SECRETS_KEYS", former);
  });

  test.each(["SITE_URL", "toString"])("of %s, which is not made by a deployment, is refused", (name) =>
    refused(new RegExp(`^${name} is not rotated: name one of DATABASE_URL`), ["rotate", name, "--yes"]),
  );

  test("that is interrupted is continued", async () => {
    expect((await deploy(["rotate", "WEBHOOK_DISPATCH_SECRET", "--yes"], { interruptAt: 2 })).error).toBe(
      "interrupted",
    );
    expect(current("WEBHOOK_DISPATCH_SECRET")).not.toBe((await values()).WEBHOOK_DISPATCH_SECRET);
    expect(await deploy()).toMatchObject(complete);
    expect(current("WEBHOOK_DISPATCH_SECRET")).toBe((await values()).WEBHOOK_DISPATCH_SECRET);
  });
});

describe("what was changed by hand", () => {
  test("a secret of the project stops the deployment, until one of the two values is chosen", async () => {
    const { secrets } = project.api.state;
    secrets.set("ADDRESS_HASH_KEY", "by hand");
    await refused(/^ADDRESS_HASH_KEY of the project is not that of feedback.env.*overwrite ADDRESS_HASH_KEY$/);
    expect(await deploy(["overwrite", "ADDRESS_HASH_KEY", "--yes"])).toMatchObject(complete);
    expect(secrets.get("ADDRESS_HASH_KEY")).toBe((await values()).ADDRESS_HASH_KEY);
    await refused(/^ADRESS_KEY is not in feedback.env: write it there first$/, ["overwrite", "ADRESS_KEY", "--yes"]);
  });

  test("variables of the platform and of the deployment itself in feedback.env stay there", async () => {
    const file = join(project.folder, "feedback.env");
    const before = await project.file();
    await writeFile(
      file,
      `${before}SUPABASE_PUBLISHABLE_KEYS={"default":"sb_publishable_x"}\nOWNER_EMAIL=a@b.example\n`,
    );
    expect((await deploy()).said).toContain("nothing to change");
    expect([...project.api.state.secrets.keys()].filter((name) => /^SUPABASE|^OWNER/.test(name))).toEqual([]);
    await writeFile(file, before);
  });

  test("a line of feedback.env is brought to the project", async () => {
    const file = join(project.folder, "feedback.env");
    await writeFile(file, `${await project.file()}SIGN_IN_PROVIDERS=\nDATABASE_WAIT_SECONDS=5\n`);
    expect(await deploy()).toMatchObject(complete);
    await writeFile(file, (await project.file()).replace("DATABASE_WAIT_SECONDS=5", "DATABASE_WAIT_SECONDS=6"));
    expect(await deploy()).toMatchObject(complete);
    expect(project.api.state.secrets.get("DATABASE_WAIT_SECONDS")).toBe("6");
  });

  test("a password, the Vault, a job of pg_cron and the setting of the data API are restored", async () => {
    await project.superuser.unsafe(`alter role feedback_webhooks password 'another';
      delete from vault.secrets where name = 'webhook_dispatch_url';
      delete from cron.job where jobname = 'feedback-webhooks';
      alter role authenticator reset pgrst.db_pre_request`);
    const restored = await deploy();
    expect(restored).toMatchObject(complete);
    expect(restored.said.match(/^doing/gm)?.length).toBe(4);
    expect((await deploy()).said).toContain("nothing to change");
  });

  test("a lost feedback.env stops the deployment, until it is back", async () => {
    const file = join(project.folder, "feedback.env");
    await rename(file, `${file}.kept`);
    await refused(/^feedback.env lacks DATABASE_URL, .*which the project has: copy the file/, ["--yes"], {
      environment: { SITE_URL: "https://ideas.acme.example" },
    });
    await rename(`${file}.kept`, file);
    expect((await deploy()).said).toContain("nothing to change");
  });

  test("a database of a newer release, or of something else, is refused", async () => {
    await project.superuser`insert into supabase_migrations.schema_migrations (version) values ('20991231000000')`;
    await refused(/^the database is of a newer release \(migration 20991231000000\): check out that release/);
    await project.superuser`update supabase_migrations.schema_migrations set version = '20240101000000' where version = '20991231000000'`;
    await refused(/^the project is of something else \(it has 20240101000000\): use one of its own/);
    await project.superuser`delete from supabase_migrations.schema_migrations where version = '20240101000000'`;
  });

  test("feedback.env of another project is refused", async () => {
    const { state } = project.api;
    const host = state.databaseHost;
    state.databaseHost = "db.bcdefghijklmnopqrstu.supabase.co";
    await refused(/^feedback.env is of another project \(127\.0\.0\.1:\d+\): deploy from a folder of its own/);
    state.databaseHost = host;
    const file = join(project.folder, "feedback.env");
    const before = await project.file();
    await writeFile(file, before.replace("DATABASE_URL=postgresql", "DATABASE_URL='postgresql"));
    await refused(/^DATABASE_URL of feedback.env is not a URL: encode its password$/);
    const pooler = (user: string) => `DATABASE_URL=postgresql://${user}:x@localhost:1/postgres?sslmode=verify-full\n`;
    await writeFile(file, before.replace(/^DATABASE_URL=.*\n/m, pooler("feedback_api")));
    await refused(/^feedback.env is of another project \(localhost:1\)/);
    await writeFile(file, before.replace(/^DATABASE_URL=.*\n/m, pooler(`feedback_api.${project.api.ref}`)));
    await refused(/^DATABASE_URL of feedback.env: .*ECONNREFUSED/);
    await writeFile(file, before);
  });
});

test("questions are asked in a terminal for what is missing, and hide secrets", async () => {
  const asked: [string, boolean][] = [];
  const folder = join(project.folder, "another");
  await mkdir(folder);
  const none = Object.fromEntries(Object.keys(project.environment).map((name) => [name, ""]));
  const { api, environment } = project;
  const answers = [api.ref, api.token, "https://a.example", environment.SUPABASE_DB_PASSWORD ?? "", ""];
  const { error } = await project.deploy(["--plan"], {
    environment: { ...none, SUPABASE_URL: environment.SUPABASE_URL ?? "" },
    folder,
    ask: async (question, isSecret) => {
      asked.push([question, isSecret]);
      return answers[asked.length - 1] ?? "";
    },
  });
  expect(asked.map(([question, isSecret]) => `${question.split(/[, ]/)[0]} ${isSecret}`)).toEqual([
    "Project false",
    "Access true",
    "Address false",
    "Database true",
    "Mail true",
  ]);
  expect(error).toMatch(/^feedback.env lacks/);
});

test("no secret was printed or is in Postgres's log, and every request to the Management API is in its description", async () => {
  const printed = `${said.join("\n")}\n${await postgresLog()}`;
  const secrets = [...project.api.state.secrets].filter(
    ([name]) => /KEY|SECRET|URL$/.test(name) && name !== "SITE_URL",
  );
  expect(secrets.length).toBeGreaterThan(8);
  const { api, environment } = project;
  for (const secret of [
    ...secrets.map(([, value]) => value),
    api.token,
    environment.SUPABASE_DB_PASSWORD,
    ...api.state.apiKeys.map((key) => key.api_key),
  ])
    expect(printed).not.toContain(secret);
  expect(printed.match(/shown this once/g)?.length).toBe(2);
  expect(project.api.violations).toEqual([]);
});
