import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { isIPv6 } from "node:net";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { type Keys, verifyingKeys } from "./auth/identity.ts";
import { type AuthProgram, authLogin, startAuthProgram } from "./auth/program.ts";
import { compileFunction } from "./compile.mjs";
import { type DataApi, startDataApi } from "./data-api/postgrest.ts";
import { openDataFolder, publicPartOf, type Secrets, setupToken, writePrivately } from "./folders/data-folder.ts";
import { rotateLogs } from "./folders/logs.ts";
import { discardCopy, isUpgrading, restoreBackupCopy } from "./folders/upgrade.ts";
import { startFunctionCalls } from "./functions/calls.ts";
import { type MailCapture, startMailCapture } from "./functions/mail-capture.ts";
import { type Functions, type FunctionsOptions, startFunctions } from "./functions/process.ts";
import { startScheduler } from "./functions/scheduler.ts";
import { buildWebAssets } from "./functions/web-assets.ts";
import type { GatewayLimits } from "./gateway/limits.ts";
import { createGateway } from "./gateway/server.ts";
import { openStorage } from "./gateway/storage.ts";
import { tokenIssuer } from "./lite/auth-config.ts";
import { type AuthProcess, startAuth } from "./lite/supervisor.ts";
import { Metrics } from "./metrics.ts";
import { type Demo, seedDemo } from "./operator/seed.ts";
import { connect, type Sql, withDatabase } from "./postgres/database.ts";
import { defaultMigrations, root, startDatabase } from "./postgres/database-server.ts";
import type { Component } from "./processes/logs.ts";
import { watchMachine } from "./processes/machine.ts";
import { listen } from "./processes/ports.ts";
import { StartError } from "./processes/start-error.ts";
import type { RealtimeOptions } from "./realtime/server.ts";
import { type RealtimeProcess, startRealtimeProcess } from "./realtime/supervisor.ts";

const functionNames = ["api", "web", "webhook-dispatch", "mail-dispatch"] as const;
/** The components of the stack other than Postgres and the gateway. */
type Parts = { auth: AuthProcess; rest: DataApi; realtime: RealtimeProcess } & Record<
  (typeof functionNames)[number],
  Functions
>;

export interface StackOptions {
  /** Where the gateway listens: 127.0.0.1 by default, 0.0.0.0 or :: for all addresses. */
  host?: string;
  /** Port of the gateway; 0 picks a free one. */
  port: number;
  /** Port of Postgres; 0 picks a free one. */
  dbPort: number;
  dataDir: string;
  seed: "demo" | "none";
  /** Parts to run besides the API; all of them by default. The demo data needs auth. */
  parts?: readonly Exclude<keyof Parts, "api">[];
  /** Header in which a proxy in front writes the client address. */
  proxyHeader?: string | undefined;
  /** Called for each step of the start, and later for problems. */
  onProgress?(step: string): void;
  onWarning?(message: string, component: Component): void;
  /** Called once with the reason when the stack cannot continue and must be stopped. */
  onLost?(reason: StartError): void;
  /** Gets the output of a part; by default files of the data folder do. */
  openLog?: ((component: Component) => Writable) | undefined;
  /** Where /metrics is served; by default nowhere. Port 0 picks a free one. */
  metrics?: { port: number; host?: string } | undefined;
  /** Additional Postgres settings. */
  postgresSettings?: Record<string, string | number>;
  /** Additional environment variables for the functions. */
  functionsEnvironment?: Record<string, string>;
  migrations?: string;
  /** The public origin of the pages and of Supabase; by default the gateway's. */
  siteUrl?: string;
  /** A folder with deno.json and <function>/index.ts, in place of functions/; and other demo data. */
  functions?: string;
  seedFile?: string;
  /** Overrides of the gateway's limits. */
  limits?: Partial<GatewayLimits>;
  /** Milliseconds without a response after which auth or the data API counts as hanging. */
  maxSilenceMs?: number;
  /** Path of PostgREST, or null for none; by default POSTGREST or the packaged program. */
  postgrest?: string | null;
  /** A program of Supabase Auth, in place of the library. */
  authProgram?: AuthProgram | null;
  /** Websocket limits of one client. */
  realtimeLimits?: RealtimeOptions["limits"];
}

/** Content of DATA_DIR/stack.json. */
export interface StackAddresses {
  /** URL of the pages. */
  site_url: string;
  /** URL of the gateway on this machine. */
  supabase_url: string;
  base_url: string;
  publishable_key: string;
  secret_key: string;
  db_url: string;
  /** Shows the mails that are not sent, for want of MAIL_URL. */
  mails_url: string | null;
  demo: Demo | null;
}

export interface Stack extends StackAddresses {
  /** Signs access tokens (HS256), for tests that need many users. */
  jwtSecret: string;
  /** URL of the Postgres superuser, for actions that `db_url` may not perform. */
  superuserUrl: string;
  /** Replaces a mail server: a line of JSON for each mail. */
  mailPath: string;
  /** Token for /setup of an installation without an organization. */
  setupToken: string | null;
  metricsUrl: string | null;
  stop(): Promise<void>;
}

/** Starts all services; on failure stops those already started and throws. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const undo: (() => Promise<unknown>)[] = [];
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= unwind(undo);
    return stopped;
  };
  try {
    return await start(options, undo, stop, () => stopped !== undefined);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function unwind(undo: (() => Promise<unknown>)[]): Promise<void> {
  for (const step of undo.splice(0).reverse()) await step().catch(() => undefined);
}

async function start(
  options: StackOptions,
  undo: (() => Promise<unknown>)[],
  stop: () => Promise<void>,
  isStopping: () => boolean,
): Promise<Stack> {
  const onProgress = options.onProgress ?? (() => undefined);
  // Processes may end before they are stopped, for example by a signal to all of them: not a problem.
  const warningsOf = (component: Component) => (message: string, kind?: "restart") => {
    if (isStopping()) return;
    if (kind === "restart") metrics.add("feedback_restarts_total", { part: component });
    options.onWarning?.(message, component);
  };
  const metrics = new Metrics();
  const { authProgram, openLog } = options;
  const folder = await openDataFolder(options.dataDir, options.seed, authProgram ? "program" : "library");
  undo.push(() => folder.release());
  undo.push(async () => {
    if (await restoreBackupCopy(folder.path))
      options.onWarning?.("The upgrade failed: the data is as it was before.", "launcher");
  });
  const watch = watchMachine(folder.path, warningsOf("launcher"));
  undo.push(async () => watch.stop());
  const { secrets } = folder;
  const isWanted = (part: keyof Parts) => part === "api" || (options.parts?.includes(part) ?? true);
  const wanted = (["auth", "rest", "api", "realtime", "webhook-dispatch", "mail-dispatch", "web"] as const).filter(
    isWanted,
  );
  // No part gets requests before all have started.
  let running: Partial<Parts> = {};
  let capture = null as MailCapture | null;
  const keys: Keys = {
    publishableKey: secrets.publishable_key,
    secretKey: secrets.secret_key,
    jwtSecret: secrets.jwt_secret,
    publicKey: authProgram ? publicPartOf(secrets.signing_key) : undefined,
    issuer: tokenIssuer,
  };
  const addressHeader = `x-address-${randomBytes(8).toString("hex")}`;
  const proxyHeader = options.proxyHeader?.toLowerCase();
  const visitorHeader = `x-visitor-${randomBytes(8).toString("hex")}`;
  const storage = openStorage(join(folder.path, "storage"));
  const gateway = createGateway({
    addressHeader,
    visitorHeader,
    proxyHeader,
    keys,
    authPort: () => running.auth?.port() ?? null,
    authIsProgram: Boolean(authProgram),
    dataApi: () => running.rest ?? null,
    ...(options.limits ? { limits: options.limits } : {}),
    functionPort: (name) => {
      // One process has both.
      const part = functionNames.find((known) => known === (name === "auth-mail" ? "mail-dispatch" : name));
      if (!part) return undefined;
      const named = running[part];
      return named?.up() ? named.port : null;
    },
    storage: storage.answer,
    mailbox: (response, path) => capture?.answer(response, path) ?? false,
    upgrade: (request, socket, head) => running.realtime?.upgrade(request, socket, head) ?? false,
    ...(options.metrics && { observe: (incoming, response) => metrics.observe(incoming, response) }),
  });
  await listen(gateway, options.port, "PORT", options.host);
  undo.push(async () => {
    gateway.close();
    gateway.closeAllConnections();
    await once(gateway, "close");
  });
  const gatewayUrl = `http://127.0.0.1:${portOf(gateway.address())}`;
  // The gateway serves the pages and Supabase, so that both have the address of a proxy in front.
  const siteUrl = options.siteUrl ?? gatewayUrl;
  let databaseUrl: string | null = null;
  let metricsUrl: string | null = null;
  if (options.metrics) {
    const { port, host = "127.0.0.1" } = options.metrics;
    const server = metrics.createServer({
      folder: folder.path,
      gateway,
      databaseUrl: () => databaseUrl,
      up: () => Object.fromEntries(wanted.map((part) => [componentOf(part), isUp(running, part)])),
      websockets: () => running.realtime?.websockets() ?? 0,
    });
    await listen(server, port, "METRICS_PORT", host);
    undo.push(async () => {
      server.close();
      server.closeAllConnections();
    });
    metricsUrl = `http://${isIPv6(host) ? `[${host}]` : host}:${portOf(server.address())}/metrics`;
  }

  const database = await startDatabase({
    folder,
    port: options.dbPort,
    migrations: options.migrations ?? defaultMigrations,
    authProgram,
    onProgress,
    onWarning: warningsOf("postgres"),
    log: openLog?.("postgres"),
    ...(options.onLost ? { onLost: options.onLost } : {}),
    ...(options.postgresSettings ? { settings: options.postgresSettings } : {}),
  });
  undo.push(() => database.stop());
  databaseUrl = database.ownerUrl;
  const sql = connect(database.ownerUrl, 2);
  undo.push(() => sql.end({ timeout: 5 }));
  await setPasswords(sql, {
    feedback_api: secrets.functions_password,
    feedback_webhooks: secrets.webhook_database_password,
    feedback_mail: secrets.mail_database_password,
  });

  const limitsPassword = randomBytes(24).toString("base64url");
  if (!authProgram) await sql.unsafe(`alter role auth_guard password '${limitsPassword}'`);

  const setup_token = await setupToken(folder.path, secrets.seed === "none" && (await isSetupOpen(sql)));

  onProgress("auth, data API, realtime and functions");
  const { jwt_secret, publishable_key, secret_key } = secrets;
  const { MAIL_URL, MAIL_FROM } = { ...process.env, ...options.functionsEnvironment };
  const isMailing = isWanted("mail-dispatch");
  const authMailSecret =
    options.functionsEnvironment?.AUTH_MAIL_SECRET ?? `whsec_${randomBytes(32).toString("base64")}`;
  const mailPath = join(folder.path, "mail.log");
  const runFunction = (
    name: (typeof functionNames)[number],
    environment: Record<string, string>,
    given: Partial<FunctionsOptions> = {},
  ) =>
    startFunctions({
      root: options.functions ?? root,
      name,
      healthPath: `/${name}/health`,
      entry: options.functions
        ? join(options.functions, name, "index.ts")
        : compileFunction(name, name === "web" ? buildWebAssets : undefined),
      environment: {
        SUPABASE_URL: siteUrl,
        SUPABASE_INTERNAL_URL: gatewayUrl,
        ...environment,
        ...options.functionsEnvironment,
      },
      logPath: join(folder.path, `${name}.log`),
      openLog: openLog && (() => openLog(name)),
      onWarning: warningsOf(name),
      ...given,
    });
  const forRequests = {
    ...functionsEnvironment(secrets, addressHeader),
    ...(keys.publicKey && { SUPABASE_JWKS: JSON.stringify([keys.publicKey]) }),
    STORAGE_KEY: storage.key,
    DATABASE_URL: database.url("feedback_api", secrets.functions_password),
    // One process serves all requests, without a pooler in between.
    DATABASE_CONNECTIONS: process.env.DATABASE_CONNECTIONS ?? "8",
  };
  const starts: { [Name in keyof Parts]: () => Promise<Parts[Name]> } = {
    async auth() {
      if (authProgram)
        return startAuthProgram({
          program: authProgram,
          databaseUrl: database.url(authLogin, secrets.auth_password),
          folder: folder.path,
          secrets,
          gatewayUrl,
          siteUrl,
          addressHeader,
          mailSecret: authMailSecret,
          maxSilenceMs: options.maxSilenceMs,
          log: openLog?.("auth"),
          onWarning: warningsOf("auth"),
        });
      return startAuth({
        secrets: { jwt_secret, publishable_key, secret_key },
        siteUrl,
        addressHeader,
        maxSilenceMs: options.maxSilenceMs,
        onWarning: warningsOf("auth"),
        databaseUrl: database.url("embedded_auth", secrets.auth_password),
        guard: {
          databaseUrl: database.url("auth_guard", limitsPassword),
          addressHashKey: secrets.address_hash_key,
          mailPath,
          pagesUrl: siteUrl,
          mailHook: isMailing ? { url: `${gatewayUrl}/functions/v1/auth-mail`, secret: authMailSecret } : undefined,
          sendsMail: isMailing && Boolean(MAIL_URL),
        },
      });
    },
    rest: () =>
      startDataApi({
        program: options.postgrest,
        databaseUrl: database.url("embedded_rest", secrets.data_api_password),
        folder: folder.path,
        siteUrl,
        jwtSecret: verifyingKeys(keys),
        maxSilenceMs: options.maxSilenceMs,
        log: openLog?.("data-api"),
        onWarning: warningsOf("data-api"),
      }),
    api: () =>
      runFunction("api", forRequests, {
        name: "the functions",
        healthPath: "/api/health",
        logPath: join(folder.path, "functions.log"),
      }),
    realtime: () =>
      startRealtimeProcess({
        databaseUrl: database.ownerUrl,
        superuserUrl: database.superuserUrl,
        keys,
        proxyHeader,
        ...(options.realtimeLimits ? { limits: options.realtimeLimits } : {}),
        log: openLog?.("realtime"),
        onWarning: warningsOf("realtime"),
      }),
    "webhook-dispatch": () =>
      runFunction("webhook-dispatch", {
        WEBHOOK_DATABASE_URL: database.url("feedback_webhooks", secrets.webhook_database_password),
        WEBHOOK_DISPATCH_SECRET: secrets.webhook_dispatch_secret,
        WEBHOOK_SECRETS_KEYS: secrets.webhook_secrets_key,
      }),
    async "mail-dispatch"() {
      // Without a mail server, mail is stored and shown here.
      if (!MAIL_URL) {
        capture = await startMailCapture(join(folder.path, "mail"));
        undo.push(() => capture?.stop() ?? Promise.resolve());
      }
      return runFunction("mail-dispatch", {
        MAIL_DATABASE_URL: database.url("feedback_mail", secrets.mail_database_password),
        MAIL_URL: MAIL_URL || (capture?.url ?? ""),
        MAIL_FROM: MAIL_FROM || "feedback@localhost",
        MAIL_LINK_KEYS: secrets.mail_link_key,
        AUTH_MAIL_SECRET: authMailSecret,
        WEBHOOK_DISPATCH_SECRET: secrets.webhook_dispatch_secret,
      });
    },
    async web() {
      const environment = {
        ...forRequests,
        AUTH_ADDRESS_HEADER: visitorHeader,
        ...(setup_token && { SETUP_TOKEN: setup_token }),
      };
      return runFunction("web", environment, { healthPath: "/health" });
    },
  };
  const started = {} as Partial<Parts> & Pick<Parts, "api">;
  const outcomes = await Promise.allSettled(
    wanted.map(async (part) => Object.assign(started, { [part]: await starts[part]() })),
  );
  for (const part of wanted) undo.push(async () => started[part]?.stop());
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  // Before requests are accepted: an upgrade that is rolled back must not lose acknowledged writes.
  await finishUpgrade(folder.path, started.api.port);
  running = started;

  const seedFile = options.seedFile ?? join(root, "supabase", "seed.sql");
  const accounts = { url: gatewayUrl, secretKey: secrets.secret_key };
  // In a session that ends: it uses many tables, and would keep 20 MB.
  const seed = () =>
    withDatabase(database.ownerUrl, (session) => seedDemo(session, accounts, folder, seedFile, onProgress));
  const demo = started.auth ? await seed() : null;

  const rotating = setInterval(() => rotateLogs(folder.path), 60_000);
  undo.push(async () => clearInterval(rotating));
  const scheduler = startScheduler(sql, 5, warningsOf("launcher"));
  undo.push(() => scheduler.stop());
  for (const called of [
    { functions: started["webhook-dispatch"], path: "/webhook-dispatch", channel: "webhooks", seconds: 5 },
    { functions: started["mail-dispatch"], path: "/mail-dispatch", channel: "mails", seconds: 5 },
    { functions: started.api, path: "/api/imports/run", channel: "imports" },
  ]) {
    const { functions } = called;
    if (!functions) continue;
    const onOutcomes = (outcomes: Record<string, number>) => metrics.setOutcomes(called.channel, outcomes);
    const calls = await startFunctionCalls(sql, { ...called, functions, onOutcomes }, secrets.webhook_dispatch_secret);
    undo.push(() => calls.stop());
  }
  const addresses: StackAddresses = {
    site_url: siteUrl,
    supabase_url: gatewayUrl,
    base_url: `http://127.0.0.1:${started.api.port}`,
    publishable_key: secrets.publishable_key,
    secret_key: secrets.secret_key,
    db_url: database.ownerUrl,
    mails_url: capture && gatewayUrl + capture.path,
    demo,
  };
  await writePrivately(join(folder.path, "stack.json"), addresses);
  return {
    ...addresses,
    jwtSecret: secrets.jwt_secret,
    superuserUrl: database.superuserUrl,
    mailPath,
    setupToken: setup_token,
    metricsUrl,
    stop,
  };
}

const componentOf = (part: keyof Parts): Component => (part === "rest" ? "data-api" : part);

function isUp(running: Partial<Parts>, part: keyof Parts): boolean {
  if (part === "auth") return (running.auth?.port() ?? null) !== null;
  if (part === "rest") return (running.rest?.listener() ?? null) !== null;
  return running[part]?.up() ?? false;
}

/** Only for logins that the migrations have created: an earlier release has fewer. */
async function setPasswords(sql: Sql, passwords: Record<string, string>): Promise<void> {
  const roles = await sql<{ rolname: string }[]>`
    select rolname from pg_roles where rolname = any (${Object.keys(passwords)})`;
  for (const { rolname } of roles) await sql.unsafe(`alter role ${rolname} password '${passwords[rolname]}'`);
}

/** Whether there has never been an organization; false in a database of an earlier version. */
async function isSetupOpen(sql: Sql): Promise<boolean> {
  const [known] = await sql`select where to_regprocedure('private.setup_is_open()') is not null`;
  if (!known) return false;
  const [state] = await sql<{ open: boolean }[]>`select private.setup_is_open() as open`;
  return state?.open === true;
}

/** Deletes the copy of an upgrade once the functions report that the database is ready. */
async function finishUpgrade(folder: string, functionsPort: number): Promise<void> {
  if (!(await isUpgrading(folder))) return;
  const ready = await fetch(`http://127.0.0.1:${functionsPort}/api/ready`);
  if (!ready.ok) throw new StartError(`the upgraded service is not ready: ${await ready.text()}`);
  await discardCopy(folder);
}

function functionsEnvironment(secrets: Secrets, addressHeader: string): Record<string, string> {
  return {
    SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: secrets.publishable_key }),
    JWT_SECRET: secrets.jwt_secret,
    JWT_ISSUERS: tokenIssuer,
    ADDRESS_HEADER: addressHeader,
    ADDRESS_FROM_SOCKET: "true",
    ADDRESS_HASH_KEY: secrets.address_hash_key,
    WEBHOOK_SECRETS_KEYS: secrets.webhook_secrets_key,
    WEBHOOK_DISPATCH_SECRET: secrets.webhook_dispatch_secret,
    MAIL_LINK_KEYS: secrets.mail_link_key,
  };
}

function portOf(address: ReturnType<ReturnType<typeof createGateway>["address"]>): number {
  if (address === null || typeof address === "string") throw new StartError("the gateway has no port");
  return address.port;
}
