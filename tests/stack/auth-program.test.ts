import { chmod, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { importJWK, type JWK, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { identityOfKey, identityOfToken, type Keys, serviceToken } from "../../local/auth/identity.ts";
import { type AuthProgramOptions, authEnvironment, findAuthProgram } from "../../local/auth/program.ts";
import { openDataFolder, publicPartOf, type Secrets } from "../../local/folders/data-folder.ts";
import { makeTemporaryFolder } from "../../local/folders/temporary-folder.ts";
import { tokenIssuer } from "../../local/lite/auth-config.ts";
import { defaultMigrations } from "../../local/postgres/database-server.ts";
import { type OwnStack, startOwnStack } from "../own-stack.ts";
import { descendants } from "../processes.ts";
import { until } from "../until.ts";
import { recordedSettings, type Seen, standIn } from "./auth-stand-in.ts";
import { temporaryFolder } from "./launcher.ts";

describe("SUPABASE_AUTH", () => {
  test("without it auth is the library", async () => {
    expect(await findAuthProgram("")).toBeNull();
  });

  test("names the program, with its migrations beside it or where SUPABASE_AUTH_MIGRATIONS says", async () => {
    const { path, migrations } = await standIn(await temporaryFolder());
    expect(await findAuthProgram(path)).toEqual({ path, migrations });
    const elsewhere = await temporaryFolder();
    await writeFile(join(elsewhere, "00_init.up.sql"), "");
    expect(await findAuthProgram(path, elsewhere)).toEqual({ path, migrations: elsewhere });
  });

  test("a program that is missing or may not run, and a folder without migrations, are one sentence", async () => {
    const { path } = await standIn(await temporaryFolder());
    const refused = (named: string, folder?: string) =>
      findAuthProgram(named, folder).then(
        () => "found",
        (error: Error) => `${error.name}: ${error.message}`,
      );
    const notRunnable = "set it to the path of a program that this user may run";
    expect(await refused("/nowhere")).toBe(`StartError: SUPABASE_AUTH is "/nowhere": ${notRunnable}`);
    expect(await refused(path, "/nowhere")).toBe(
      "StartError: /nowhere has no migrations of Supabase Auth: set SUPABASE_AUTH_MIGRATIONS to their folder",
    );
    await chmod(path, 0o644);
    expect(await refused(path)).toBe(`StartError: SUPABASE_AUTH is ${JSON.stringify(path)}: ${notRunnable}`);
  });
});

describe("the data folder", () => {
  const open = (path: string, auth: "library" | "program") =>
    openDataFolder(path, "none", auth).then(
      async (folder) => {
        await folder.release();
        return folder.secrets;
      },
      (error: Error) => error.message,
    );
  const prepared = async (path: string) => {
    const file = join(path, "secrets.json");
    await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, "utf8")), platform: "made" }));
  };

  test("remembers its auth, and refuses the other", async () => {
    const [program, library] = [await temporaryFolder(), await temporaryFolder()];
    const { signing_key } = (await open(program, "program")) as Secrets;
    expect(signing_key).toMatchObject({ kty: "EC", crv: "P-256", alg: "ES256", d: expect.any(String) });
    await prepared(program);
    expect(await open(program, "library")).toBe(
      `the data folder ${program} was made with Supabase Auth: set SUPABASE_AUTH to its program, or set DATA_DIR to another folder`,
    );
    expect(await open(program, "program")).toMatchObject({ auth: "program", signing_key });
    expect(await open(library, "library")).not.toHaveProperty("signing_key");
    await prepared(library);
    expect(await open(library, "program")).toBe(
      `the data folder ${library} was made with the built-in auth: unset SUPABASE_AUTH, or set DATA_DIR to another folder`,
    );
  });

  test("one of an earlier version has the library's tables", async () => {
    const path = await temporaryFolder();
    await open(path, "library");
    const file = join(path, "secrets.json");
    const { auth: _, ...earlier } = JSON.parse(await readFile(file, "utf8"));
    await writeFile(file, JSON.stringify({ ...earlier, platform: "made" }));
    expect(await open(path, "program")).toContain("was made with the built-in auth");
    expect(await open(path, "library")).toMatchObject({ auth: "library" });
  });

  test("one that no start has prepared may change its auth", async () => {
    const path = await temporaryFolder();
    await open(path, "program");
    expect(await open(path, "library")).toMatchObject({ auth: "library" });
  });
});

const signing = async () => {
  const folder = await openDataFolder(await temporaryFolder(), "none", "program");
  await folder.release();
  return folder.secrets;
};
const signed = async (key: JWK, claims: Record<string, unknown> = {}) =>
  new SignJWT({ role: "authenticated", sub: "8d0b2c1a-0000-4000-8000-000000000001", ...claims })
    .setProtectedHeader({ alg: "ES256", kid: String(key.kid) })
    .setIssuer(tokenIssuer)
    .setAudience("authenticated")
    .setExpirationTime("1h")
    .sign(await importJWK(key, "ES256"));

describe("access tokens", () => {
  test("of the program (ES256) and of the launcher (HS256) are accepted, of no other key", async () => {
    const [secrets, other] = [await signing(), await signing()];
    const own = secrets.signing_key as JWK;
    const keys: Keys = {
      publishableKey: secrets.publishable_key,
      secretKey: secrets.secret_key,
      jwtSecret: secrets.jwt_secret,
      publicKey: publicPartOf(secrets.signing_key),
      issuer: tokenIssuer,
    };
    expect(keys.publicKey).not.toHaveProperty("d");
    expect(await identityOfToken(keys, await signed(own))).toMatchObject({ role: "authenticated" });
    expect(await identityOfToken(keys, await serviceToken(keys))).toMatchObject({ role: "service_role" });
    expect(identityOfKey(keys, keys.publishableKey)).toMatchObject({ role: "anon" });
    const wrong = "Failed to validate JWT signature";
    const foreign = { ...(other.signing_key as JWK), kid: String(own.kid) };
    await expect(identityOfToken(keys, await signed(foreign))).rejects.toThrow(wrong);
    // The public key, which everybody can read, is not accepted as a shared secret.
    const published = new SignJWT({ role: "service_role" })
      .setProtectedHeader({ alg: "HS256" })
      .setIssuer(tokenIssuer)
      .setAudience("authenticated")
      .setExpirationTime("1h")
      .sign(new TextEncoder().encode(JSON.stringify(keys.publicKey)));
    await expect(identityOfToken(keys, await published)).rejects.toThrow(wrong);
    const { publicKey: _, ...ofTheLibrary } = keys;
    await expect(identityOfToken(ofTheLibrary, await signed(own))).rejects.toThrow(wrong);
  });
});

describe("the program's environment", () => {
  const environment = async (variables: Record<string, string>) => {
    const secrets = await signing();
    const options: AuthProgramOptions = {
      program: { path: "/auth", migrations: "/migrations" },
      databaseUrl: "postgresql://supabase_auth_admin:password@127.0.0.1:5432/postgres",
      folder: "/data",
      secrets,
      gatewayUrl: "http://127.0.0.1:54321",
      siteUrl: "https://feedback.example.org",
      addressHeader: "x-address-1",
      mailSecret: "whsec_c2VjcmV0",
      onWarning: () => undefined,
    };
    return { secrets, made: authEnvironment(options, { host: "127.0.0.1", port: 9999 }, variables) };
  };

  test("has the launcher's settings, and both keys", async () => {
    const { secrets, made } = await environment({});
    expect(made).toMatchObject({
      API_EXTERNAL_URL: "https://feedback.example.org/auth/v1",
      DATABASE_URL: "postgresql://supabase_auth_admin:password@127.0.0.1:5432/postgres?sslmode=disable",
      GOTRUE_SITE_URL: "https://feedback.example.org",
      GOTRUE_URI_ALLOW_LIST: "https://feedback.example.org/auth/callback,https://feedback.example.org/auth/callback?**",
      GOTRUE_MAILER_AUTOCONFIRM: "false",
      GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: "false",
      GOTRUE_RATE_LIMIT_HEADER: "x-address-1",
      GOTRUE_HOOK_SEND_EMAIL_URI: "http://127.0.0.1:54321/functions/v1/auth-mail",
      GOTRUE_HOOK_SEND_EMAIL_SECRETS: "v1,whsec_c2VjcmV0",
      GOTRUE_MAILER_NOTIFICATIONS_PASSWORD_CHANGED_ENABLED: "true",
      PORT: "9999",
    });
    // Exactly one key signs; the shared secret only verifies.
    const [signs, verifies] = JSON.parse(made.GOTRUE_JWT_KEYS ?? "") as JWK[];
    expect([signs?.kty, signs?.key_ops]).toEqual(["EC", ["sign", "verify"]]);
    expect([verifies?.kty, verifies?.key_ops]).toEqual(["oct", ["verify"]]);
    expect(Buffer.from(verifies?.k ?? "", "base64url").toString()).toBe(secrets.jwt_secret);
  });

  test("inherits settings of auth only, and none that the launcher must decide", async () => {
    const { made } = await environment({
      MAIL_URL: "smtps://user:secret@mail.example.org",
      AWS_SECRET_ACCESS_KEY: "secret",
      HOME: "/root",
      GOTRUE_EXTERNAL_GITHUB_ENABLED: "true",
      GOTRUE_MAILER_OTP_EXP: "600",
      GOTRUE_URI_ALLOW_LIST: "https://app.example.org/**",
      GOTRUE_SITE_URL: "https://evil.example",
      GOTRUE_SECURITY_SB_FORWARDED_FOR_ENABLED: "true",
      // This variable takes precedence over DATABASE_URL.
      GOTRUE_DB_DATABASE_URL: "postgresql://evil.example",
      GOTRUE_API_PORT: "1",
    });
    expect(made).toMatchObject({
      GOTRUE_EXTERNAL_GITHUB_ENABLED: "true",
      GOTRUE_MAILER_OTP_EXP: "600",
      GOTRUE_SITE_URL: "https://feedback.example.org",
      GOTRUE_SECURITY_SB_FORWARDED_FOR_ENABLED: "false",
    });
    expect(made.GOTRUE_URI_ALLOW_LIST).toMatch(/\/auth\/callback\?\*\*,https:\/\/app\.example\.org\/\*\*$/);
    expect(Object.keys(made).filter((name) => /^(?:MAIL|AWS|HOME|GOTRUE_DB_D.*URL|GOTRUE_API_P)/.test(name))).toEqual(
      [],
    );
  });
});

describe("a stack with a stand-in for the program", () => {
  let own: OwnStack;
  let folder: string;
  const warnings: string[] = [];

  beforeAll(async () => {
    folder = await makeTemporaryFolder("auth");
    own = await startOwnStack({
      parts: ["auth", "rest"],
      migrations: defaultMigrations,
      authProgram: await standIn(folder),
      onWarning: (message) => warnings.push(message),
    });
  });
  afterAll(async () => {
    await own?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  const secrets = async () => JSON.parse(await readFile(join(own.folder, "secrets.json"), "utf8")) as Secrets;
  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${own.supabase_url}/auth/v1${path}`, { headers });
    return { status: response.status, body: (await response.json()) as Seen & Record<string, unknown> };
  };

  test("the gateway verifies one link or code after the other", async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => ask("/verify?type=email_change")));
    expect(answers.map(({ body }) => body.together)).toEqual(answers.map(() => 1));
  });

  test("the gateway asks for the API key, except where browsers and providers go", async () => {
    expect((await ask("/settings")).body).toEqual({
      code: 401,
      error_code: "unauthorized",
      msg: "No API key found in request",
    });
    expect((await ask("/settings", { apikey: "sb_publishable_wrong" })).body.msg).toBe("Invalid API key");
    const settings = await ask("/settings", { apikey: own.publishable_key });
    expect(settings.body).toEqual(recordedSettings);
    const inABrowser = { apikey: own.secret_key, "user-agent": "Mozilla/5.0" };
    expect((await ask("/admin/users", inABrowser)).status).toBe(401);
    for (const path of ["/verify?type=signup", "/callback?code=1", "/authorize", "/.well-known/openid-configuration"])
      expect((await ask(path)).body.url.replace(/\?$/, "")).toBe(path);
    expect((await ask("/verifyx")).status).toBe(401);
  });

  test("the secret key becomes a token of the service, and a user's token stays", async () => {
    const { jwt_secret, signing_key } = await secrets();
    const bySecret = (await ask("/admin/users", { apikey: own.secret_key })).body.headers;
    const keys: Keys = {
      publishableKey: own.publishable_key,
      secretKey: own.secret_key,
      jwtSecret: jwt_secret,
      issuer: tokenIssuer,
    };
    const token = bySecret.authorization?.replace("Bearer ", "") ?? "";
    expect(await identityOfToken(keys, token)).toMatchObject({ role: "service_role" });
    expect(bySecret).not.toHaveProperty("apikey");
    const users = `Bearer ${await signed(signing_key as JWK)}`;
    const kept = await ask("/user", { apikey: own.publishable_key, authorization: users });
    expect(kept.body.headers.authorization).toBe(users);
    const keyAsToken = { apikey: own.publishable_key, authorization: `Bearer ${own.publishable_key}` };
    expect((await ask("/user", keyAsToken)).body.headers).not.toHaveProperty("authorization");
  });

  test("the client address is that of the gateway", async () => {
    const { environment, headers } = (
      await ask("/anything", {
        apikey: own.publishable_key,
        "x-forwarded-for": "10.1.2.3",
        "sb-forwarded-for": "10.1.2.3",
        cookie: "session=secret",
      })
    ).body;
    expect(headers[environment.GOTRUE_RATE_LIMIT_HEADER ?? ""]).toBe("127.0.0.1");
    expect(headers["x-forwarded-for"]).toBe("127.0.0.1");
    expect(headers).not.toHaveProperty("cookie");
  });

  test("it gets no secret of the launcher, and reads no file .env of its folder", async () => {
    const { environment, folder: workingFolder } = (await ask("/x", { apikey: own.secret_key })).body;
    const { owner_password, superuser_password, functions_password, secret_key } = await secrets();
    for (const secret of [owner_password, superuser_password, functions_password, secret_key])
      expect(JSON.stringify(environment)).not.toContain(secret);
    expect(workingFolder).toBe(own.folder);
    const commands = (await descendants()).map(({ command }) => command).join("\n");
    expect(commands).toContain(join(folder, "auth"));
    expect(commands).not.toContain((await secrets()).auth_password);
  });

  test("its login owns schema auth, and has no rights elsewhere", async () => {
    const [rights] = await own.sql`select rolcreaterole, rolbypassrls, rolsuper,
      has_database_privilege(rolname, current_database(), 'create') as creates,
      has_schema_privilege(rolname, 'private', 'usage') as private,
      has_table_privilege(rolname, 'public.profiles', 'select') as profiles,
      (select nspowner = r.oid from pg_namespace where nspname = 'auth') as owns
      from pg_roles r where rolname = 'supabase_auth_admin'`;
    expect(rights).toEqual({
      rolcreaterole: false,
      rolbypassrls: false,
      rolsuper: false,
      creates: false,
      private: false,
      profiles: false,
      owns: true,
    });
    const ofTheLibrary = await own.sql`select rolname from pg_roles where rolname in ('embedded_auth', 'auth_guard')`;
    expect([...ofTheLibrary]).toEqual([]);
  });

  test("the API and the data API accept its tokens and the launcher's", async () => {
    const { signing_key } = await secrets();
    const [made] = await own.sql`insert into auth.users (id, email, aud, role, email_confirmed_at)
      values (gen_random_uuid(), 'ann@example.org', 'authenticated', 'authenticated', now()) returning id`;
    const session = (
      await own.sql`insert into auth.sessions (id, user_id, aal, created_at)
      values (gen_random_uuid(), ${made?.id}, 'aal1', now()) returning id`
    )[0];
    const token = await signed(signing_key as JWK, { sub: made?.id, session_id: session?.id, aal: "aal1" });
    const headers = { apikey: own.publishable_key, authorization: `Bearer ${token}` };
    const rest = await fetch(`${own.supabase_url}/rest/v1/profiles?select=id`, { headers });
    expect([rest.status, await rest.json()]).toEqual([200, expect.arrayContaining([{ id: made?.id }])]);
    const api = await own.call("GET", "/api/me/notifications", { token });
    expect(api.status).toBe(200);
    const foreign = await signed((await signing()).signing_key as JWK);
    const refused = await fetch(`${own.supabase_url}/rest/v1/profiles?select=id`, {
      headers: { ...headers, authorization: `Bearer ${foreign}` },
    });
    expect(refused.status).toBe(401);
    expect((await own.call("GET", "/api/me/notifications", { token: foreign })).status).toBe(401);
    const bySecret = await fetch(`${own.supabase_url}/rest/v1/profiles?select=id`, {
      headers: { apikey: own.secret_key },
    });
    expect(bySecret.status).toBe(200);
  });

  test("it starts again after it was killed, with one warning", async () => {
    const [auth] = (await descendants()).filter(({ command }) =>
      command.startsWith(`${process.execPath} ${join(folder, "auth")}`),
    );
    expect(auth).toBeDefined();
    process.kill(auth?.pid ?? 0, "SIGKILL");
    await until(async () => warnings.length > 0);
    await until(async () => (await ask("/settings", { apikey: own.publishable_key })).status === 200);
    expect(warnings).toEqual(["auth starts again: it ended (code 137)"]);
  });
});

test("a newer program upgrades a copy; one that is not Supabase Auth, or an older one, is refused in one sentence", async () => {
  const folder = await temporaryFolder();
  const program = await standIn(folder);
  const dataDir = join(folder, "data");
  const steps: string[] = [];
  const start = (authProgram: { path: string; migrations: string }) =>
    startOwnStack({
      dataDir,
      migrations: defaultMigrations,
      authProgram,
      withOrganization: false,
      onProgress: (step) => steps.push(step),
    }).then(
      async (own) => {
        await own.stop();
        return "it started";
      },
      (error: Error) => error.message,
    );
  expect(await start({ ...program, path: "/bin/true" })).toBe(
    "/bin/true is not Supabase Auth: set SUPABASE_AUTH to its program, or unset it",
  );
  expect(await start({ ...program, path: "/bin/false" })).toMatch(/^\/bin\/false did not migrate the tables of auth: /);
  expect(await start(program)).toBe("it started");
  expect(steps).not.toContain("upgrade, with a copy of the data");
  const newer = join(folder, "newer");
  await cp(program.migrations, newer, { recursive: true });
  await writeFile(join(newer, "20270101000000_next.up.sql"), "");
  expect(await start({ ...program, migrations: newer })).toBe("it started");
  expect(steps).toContain("upgrade, with a copy of the data");
  const older = join(folder, "older");
  await mkdir(older);
  await writeFile(join(older, "00_init_auth_schema.up.sql"), "");
  expect(await start({ ...program, migrations: older })).toBe(
    `the data folder is of a newer Supabase Auth (migration 20260625000000) than ${program.path}: set SUPABASE_AUTH to that version, or set DATA_DIR to another folder`,
  );
});
