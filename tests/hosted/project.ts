import { randomBytes } from "node:crypto";
import { chown, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import postgres from "postgres";
import { type Functions, startFunctions } from "../../local/functions/process.ts";
import { withDatabase } from "../../local/postgres/database.ts";
import { root } from "../../local/postgres/database-server.ts";
import { startEmptyDatabase } from "../data-template.ts";
import { makeCertificates } from "./certificates.ts";

/** A project like hosted Supabase: Postgres accepts only TLS, and an auth service publishes its keys. */
export interface Project {
  sql: postgres.Sql;
  /** URL of the role postgres, without TLS parameters. */
  ownerUrl: string;
  superuserUrl: string;
  /** The settings of step 4 of docs/deploy.md, and those that hosted Supabase adds. */
  environment: Record<string, string>;
  signIn(userId: string, key: SigningKey, claims?: object): Promise<string>;
  /** Keys: in the environment; published by the auth service only, as after a rotation; the shared secret. */
  keys: Record<"known" | "rotated", SigningKey & { published: JWK }> & { shared: SigningKey };
  /** The keys that auth publishes. */
  published: { keys: JWK[]; isAway: boolean };
  /** Whether the deployment check may trust the server. */
  authority: string;
  start(
    name: "api" | "web" | "webhook-dispatch" | "mail-dispatch" | "auth-mail",
    how: Run,
  ): Promise<Functions & { log(): Promise<string> }>;
  remove(): Promise<void>;
}

/** The program of Deno, and the code that it runs: the sources or a folder of bundles. */
export interface Run {
  program: string;
  bundles?: string;
  environment?: Record<string, string>;
}

/** Answers of Supabase Auth 2.196 with confirmed addresses and without CAPTCHA. */
export const recordedAuth: Record<string, object> = {
  "/auth/v1/settings": {
    external: { anonymous_users: false, email: true, github: false, google: false, phone: false },
    disable_signup: false,
    mailer_autoconfirm: false,
    phone_autoconfirm: false,
    sms_provider: "",
    saml_enabled: false,
    saml_private_key_next_configured: true,
    passkeys_enabled: false,
  },
  "/auth/v1/token?grant_type=password": { code: 400, error_code: "validation_failed", msg: "missing email or phone" },
};

type SigningKey = { alg: string; kid?: string; key: CryptoKey | Uint8Array };

const random = () => randomBytes(32).toString("base64");

export async function startProject(): Promise<Project> {
  const database = await startEmptyDatabase();
  const { path } = database;
  const authority = await requireTls(database.superuserUrl, join(path, "postgres"));
  const passwords = { feedback_api: random(), feedback_webhooks: random(), feedback_mail: random() };
  const sql = postgres(database.ownerUrl, { max: 2, onnotice: () => undefined, ssl: { rejectUnauthorized: false } });
  for (const [role, password] of Object.entries(passwords))
    await sql.unsafe(`alter role ${role} password '${password}'`);
  const loginOf = (role: keyof typeof passwords) => {
    const url = new URL(database.url(role, encodeURIComponent(passwords[role])));
    url.search = "?sslmode=verify-full";
    return url.href;
  };

  const [known, rotated] = await Promise.all([makeKey("known"), makeKey("rotated")]);
  const secret = random();
  // A stand-in for hosted auth: its keys, and no answer while it is away.
  const published: Project["published"] = { keys: [known.published, rotated.published], isAway: false };
  const auth = createServer((request, response) => {
    if (published.isAway) return void response.writeHead(503).end();
    const { keys } = published;
    const answer = { ...recordedAuth, "/auth/v1/.well-known/jwks.json": { keys } }[request.url ?? ""];
    response.setHeader("Content-Type", "application/json").end(JSON.stringify(answer ?? { keys: [] }));
  });
  await new Promise<void>((resolve) => auth.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(auth.address() as AddressInfo).port}`;

  const settings: Record<string, string> = {
    DATABASE_URL: loginOf("feedback_api"),
    // The certificate is on one line, as in an env file.
    DATABASE_CA: authority.replaceAll("\n", "\\n"),
    DATABASE_CONNECTIONS: "2",
    SITE_URL: "https://feedback.example",
    ADDRESS_HASH_KEY: random(),
    ADDRESS_HEADER: "cf-connecting-ip",
    JWT_SECRET: secret,
    WEBHOOK_DATABASE_URL: loginOf("feedback_webhooks"),
    WEBHOOK_DISPATCH_SECRET: random(),
    MAIL_DATABASE_URL: loginOf("feedback_mail"),
    MAIL_FROM: "feedback@mail.example",
    MAIL_LINK_KEYS: `first:${random()}`,
    WEBHOOK_SECRETS_KEYS: `first:${random()}`,
    SUPABASE_URL: url,
    SUPABASE_JWKS: JSON.stringify([known.published]),
    SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: "sb_publishable_x" }),
    // For the receiver of the test.
    WEBHOOK_ALLOWED_HOSTS: "127.0.0.1",
  };

  return {
    sql,
    ownerUrl: database.ownerUrl,
    superuserUrl: database.superuserUrl,
    environment: settings,
    authority,
    keys: { known, rotated, shared: { alg: "HS256", key: new TextEncoder().encode(secret) } },
    published,
    signIn: (userId, { alg, kid, key }, claims = {}) =>
      new SignJWT({ sub: userId, role: "authenticated", ...claims })
        .setProtectedHeader({ alg, ...(kid ? { kid } : {}) })
        .setAudience("authenticated")
        .setIssuer(`${url}/auth/v1`)
        .setIssuedAt()
        .setExpirationTime("1h")
        .sign(key),
    async start(name, { program, bundles, environment }) {
      const folder = bundles ?? join(root, "functions");
      // One for each version: they do not share their caches.
      const cache = join(root, "node_modules", ".cache", program.includes("deno-2.1") ? "deno-2.1" : "deno");
      await mkdir(join(path, "logs"), { recursive: true });
      const logPath = join(path, "logs", `${randomBytes(4).toString("hex")}.log`);
      const functions = await startFunctions({
        root: bundles ?? root,
        program,
        name,
        entry: join(folder, name, "index.ts"),
        // Supabase calls a function with its name before the path.
        healthPath: `/${name}/health`,
        environment: { DENO_DIR: cache, ...settings, ...environment },
        logPath,
        onWarning: (message) => console.error(message),
      });
      return Object.assign(functions, { log: () => readFile(logPath, "utf8") });
    },
    async remove() {
      auth.close();
      await sql.end({ timeout: 1 }).catch(() => undefined);
      await database.stop();
    },
  };
}

export async function makeKey(kid: string, alg = "ES256"): Promise<SigningKey & { published: JWK }> {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  const published = { ...(await exportJWK(publicKey)), alg, kid, use: "sig" };
  return { alg, kid, key: privateKey, published };
}

/**
 * Configures a certificate for Postgres, and requires TLS for the roles of the functions. Returns the authority in PEM.
 */
export async function requireTls(superuserUrl: string, data: string): Promise<string> {
  const { authority, certificate, key } = makeCertificates("127.0.0.1");
  const { uid, gid } = await stat(data);
  for (const [name, text] of Object.entries({ "server.crt": certificate, "server.key": key })) {
    await writeFile(join(data, name), text, { mode: 0o600 });
    await chown(join(data, name), uid, gid);
  }
  const rules = join(data, "pg_hba.conf");
  const onlyTls = "hostnossl all feedback_api,feedback_webhooks,feedback_mail all reject\n";
  await writeFile(rules, onlyTls + (await readFile(rules, "utf8")));
  await withDatabase(superuserUrl, async (superuser) => {
    await superuser`alter system set ssl = on`;
    await superuser`select pg_reload_conf()`;
  });
  return authority;
}
