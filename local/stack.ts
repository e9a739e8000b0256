import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { openDataFolder, type Secrets, writePrivately } from "./data-folder.ts";
import { connect } from "./database.ts";
import { defaultMigrations, root, startDatabase } from "./database-server.ts";
import { startFunctionCalls } from "./function-calls.ts";
import { type Functions, startFunctions } from "./functions.ts";
import type { GatewayLimits } from "./gateway/limits.ts";
import { createGateway } from "./gateway.ts";
import { tokenIssuer } from "./lite/auth-config.ts";
import type { LiteName } from "./lite/paths.ts";
import { type LiteProcess, startLiteProcess } from "./lite/supervisor.ts";
import { rotateLogs } from "./logs.ts";
import { listen } from "./ports.ts";
import { personOf } from "./realtime/identity.ts";
import type { RealtimeOptions } from "./realtime/server.ts";
import { type RealtimeProcess, startRealtimeProcess } from "./realtime/supervisor.ts";
import { startScheduler } from "./scheduler.ts";
import { type Demo, seedDemo } from "./seed.ts";
import { StartError } from "./start-error.ts";

export interface StackOptions {
  /** Of the gateway; 0 picks a free one. */
  port: number;
  /** Of Postgres; 0 picks a free one. */
  dbPort: number;
  dataDir: string;
  seed: "demo" | "none";
  /** In which a proxy in front writes the client's address. */
  proxyHeader?: string | undefined;
  /** Hears what is being started, and later what goes wrong. */
  progress?(step: string): void;
  trouble?(message: string): void;
  /** Postgres settings beside the usual ones. */
  postgresSettings?: Record<string, string | number>;
  /** Variables for the functions beside the usual ones. */
  functionsEnvironment?: Record<string, string>;
  migrations?: string;
  functionsEntry?: string;
  /** What one client may take of the gateway, beside the usual limits. */
  limits?: Partial<GatewayLimits>;
  /** And of websockets. */
  realtimeLimits?: RealtimeOptions["limits"];
}

/** What DATA_DIR/stack.json holds. */
export interface StackAddresses {
  supabase_url: string;
  base_url: string;
  publishable_key: string;
  secret_key: string;
  db_url: string;
  demo: Demo | null;
}

export interface Stack extends StackAddresses {
  /** Signs access tokens (HS256), for tests that need many users. */
  jwtSecret: string;
  /** The Postgres superuser's, for what `db_url` may not do. */
  superuserUrl: string;
  stop(): Promise<void>;
}

/** Starts everything, or stops again what it had started and throws. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const undo: (() => Promise<unknown>)[] = [];
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= unwind(undo);
    return stopped;
  };
  try {
    return await start(options, undo, stop);
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
): Promise<Stack> {
  const progress = options.progress ?? (() => undefined);
  const trouble = options.trouble ?? (() => undefined);
  const folder = await openDataFolder(options.dataDir, options.seed);
  undo.push(() => folder.release());
  const { secrets } = folder;

  let lite: Record<LiteName, LiteProcess> | null = null;
  let functions: Functions | null = null;
  let dispatcher: Functions | null = null;
  let realtime: RealtimeProcess | null = null;
  const keys = {
    publishableKey: secrets.publishable_key,
    secretKey: secrets.secret_key,
    jwtSecret: secrets.jwt_secret,
    issuer: tokenIssuer,
  };
  const addressHeader = `x-address-${randomBytes(8).toString("hex")}`;
  const gateway = createGateway({
    addressHeader,
    proxyHeader: options.proxyHeader?.toLowerCase(),
    litePort: (name) => lite?.[name].port() ?? null,
    personOf: (token) => personOf(keys, token),
    ...(options.limits ? { limits: options.limits } : {}),
    functionPort: (name) => {
      if (name !== "api" && name !== "webhook-dispatch") return undefined;
      const named = name === "api" ? functions : dispatcher;
      return named?.up() ? named.port : null;
    },
    realtimePort: () => realtime?.port() ?? null,
    upgrade: (request, socket, head) => realtime?.upgrade(request, socket, head) ?? false,
  });
  await listen(gateway, options.port, "PORT");
  undo.push(async () => {
    gateway.close();
    gateway.closeAllConnections();
    await once(gateway, "close");
  });
  const supabaseUrl = `http://127.0.0.1:${portOf(gateway.address())}`;

  const database = await startDatabase({
    folder,
    port: options.dbPort,
    migrations: options.migrations ?? defaultMigrations,
    progress,
    trouble,
    ...(options.postgresSettings ? { settings: options.postgresSettings } : {}),
  });
  undo.push(() => database.stop());
  const sql = connect(database.ownerUrl, 2);
  undo.push(() => sql.end({ timeout: 5 }));
  await sql.unsafe(`alter role feedback_api password '${secrets.functions_password}'`);
  await sql.unsafe(`alter role feedback_webhooks password '${secrets.webhook_database_password}'`);

  const limitsPassword = randomBytes(24).toString("base64url");
  await sql.unsafe(`alter role auth_guard password '${limitsPassword}'`);

  progress("auth, data API, realtime and functions");
  const { jwt_secret, publishable_key, secret_key } = secrets;
  const common = {
    secrets: { jwt_secret, publishable_key, secret_key },
    siteUrl: supabaseUrl,
    addressHeader,
    onTrouble: trouble,
  };
  const signingIn = startLiteProcess({
    ...common,
    name: "auth",
    databaseUrl: database.url("embedded_auth", secrets.auth_password),
    guard: {
      databaseUrl: database.url("auth_guard", limitsPassword),
      addressHashKey: secrets.address_hash_key,
      mailPath: join(folder.path, "mail.log"),
    },
  });
  const opening = startLiteProcess({
    ...common,
    name: "rest",
    databaseUrl: database.url("embedded_rest", secrets.data_api_password),
  });
  const spawning = startFunctions({
    root,
    entry: resolve(root, options.functionsEntry ?? "functions/api/index.ts"),
    environment: {
      ...functionsEnvironment(secrets, supabaseUrl, addressHeader),
      DATABASE_URL: database.url("feedback_api", secrets.functions_password),
      // One process serves everybody here, and no pooler shares the connections out.
      DATABASE_CONNECTIONS: process.env.DATABASE_CONNECTIONS ?? "8",
      ...options.functionsEnvironment,
    },
    logPath: join(folder.path, "functions.log"),
    onTrouble: trouble,
  });
  const dispatching = startFunctions({
    root,
    name: "webhook-dispatch",
    healthPath: "/webhook-dispatch/health",
    entry: join(root, "functions", "webhook-dispatch", "index.ts"),
    environment: {
      SUPABASE_URL: supabaseUrl,
      WEBHOOK_DATABASE_URL: database.url("feedback_webhooks", secrets.webhook_database_password),
      WEBHOOK_DISPATCH_SECRET: secrets.webhook_dispatch_secret,
      WEBHOOK_SECRETS_KEYS: secrets.webhook_secrets_key,
      ...options.functionsEnvironment,
    },
    logPath: join(folder.path, "webhook-dispatch.log"),
    onTrouble: trouble,
  });
  const listening = startRealtimeProcess({
    databaseUrl: database.ownerUrl,
    superuserUrl: database.superuserUrl,
    keys,
    ...(options.realtimeLimits ? { limits: options.realtimeLimits } : {}),
    onTrouble: trouble,
  });
  const started = await Promise.allSettled([signingIn, opening, spawning, listening, dispatching]);
  for (const part of started) if (part.status === "fulfilled") undo.push(() => part.value.stop());
  for (const part of started) if (part.status === "rejected") throw part.reason;
  lite = { auth: await signingIn, rest: await opening };
  functions = await spawning;
  realtime = await listening;
  dispatcher = await dispatching;

  const auth = { url: supabaseUrl, publishableKey: secrets.publishable_key, fetch: lite.auth.fetch };
  const seedFile = join(root, "supabase", "seed.sql");
  const demo = await seedDemo(sql, auth, folder, seedFile, progress);

  const rotating = setInterval(() => rotateLogs(folder.path), 60_000);
  undo.push(async () => clearInterval(rotating));
  const scheduler = startScheduler(sql, 5, trouble);
  undo.push(() => scheduler.stop());
  for (const called of [
    { functions: dispatcher, path: "/webhook-dispatch", channel: "webhooks", seconds: 5 },
    { functions, path: "/api/imports/run", channel: "imports" },
  ]) {
    const calls = await startFunctionCalls(sql, called, secrets.webhook_dispatch_secret);
    undo.push(() => calls.stop());
  }
  const addresses: StackAddresses = {
    supabase_url: supabaseUrl,
    base_url: `http://127.0.0.1:${functions.port}`,
    publishable_key: secrets.publishable_key,
    secret_key: secrets.secret_key,
    db_url: database.ownerUrl,
    demo,
  };
  await writePrivately(join(folder.path, "stack.json"), addresses);
  return {
    ...addresses,
    jwtSecret: secrets.jwt_secret,
    superuserUrl: database.superuserUrl,
    stop,
  };
}

function functionsEnvironment(
  secrets: Secrets,
  supabaseUrl: string,
  addressHeader: string,
): Record<string, string> {
  return {
    SUPABASE_URL: supabaseUrl,
    SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: secrets.publishable_key }),
    JWT_SECRET: secrets.jwt_secret,
    JWT_ISSUERS: tokenIssuer,
    ADDRESS_HEADER: addressHeader,
    ADDRESS_FROM_SOCKET: "true",
    ADDRESS_HASH_KEY: secrets.address_hash_key,
    WEBHOOK_SECRETS_KEYS: secrets.webhook_secrets_key,
    WEBHOOK_DISPATCH_SECRET: secrets.webhook_dispatch_secret,
  };
}

function portOf(address: ReturnType<ReturnType<typeof createGateway>["address"]>): number {
  if (address === null || typeof address === "string") throw new StartError("the gateway has no port");
  return address.port;
}
