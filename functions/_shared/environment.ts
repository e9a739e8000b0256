import type { LanguageModel } from "./language-model.ts";

/** What the deployment tells the functions, read once; docs/deploy.md lists every name. */
export const environment = {
  databaseUrl: read("DATABASE_URL"),
  databaseCa: read("DATABASE_CA"),
  databaseConnections: Number(read("DATABASE_CONNECTIONS") ?? 4),
  databaseWaitSeconds: Number(read("DATABASE_WAIT_SECONDS") ?? 4),
  /** A connection that nobody uses for so long is closed. */
  databaseIdleSeconds: Number(read("DATABASE_IDLE_SECONDS") ?? 30),
  databasePrepare: read("DATABASE_PREPARE") !== "false",
  supabaseUrl: read("SUPABASE_URL") ?? "http://127.0.0.1:54321",
  siteUrl: (read("SITE_URL") ?? read("SUPABASE_URL") ?? "http://127.0.0.1:54321").replace(/\/+$/, ""),
  jwtSecret: read("JWT_SECRET"),
  jwks: read("SUPABASE_JWKS"),
  jwtIssuers: (
    read("JWT_ISSUERS") ?? `${(read("SUPABASE_URL") ?? "http://127.0.0.1:54321").replace(/\/+$/, "")}/auth/v1`
  )
    .split(",")
    .map((issuer) => issuer.trim())
    .filter(Boolean),
  publicKeys: new Set([
    ...Object.values(JSON.parse(read("SUPABASE_PUBLISHABLE_KEYS") ?? "{}") as Record<string, string>),
    ...[read("SUPABASE_ANON_KEY")].filter((key) => key !== undefined),
  ]),
  addressHeader: read("ADDRESS_HEADER"),
  addressFromSocket: read("ADDRESS_FROM_SOCKET") === "true",
  addressHashKey: read("ADDRESS_HASH_KEY"),
  allowedHosts: (read("MCP_ALLOWED_HOSTS") ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean),
  languageModel: readModel(),
  webhookDatabaseUrl: read("WEBHOOK_DATABASE_URL"),
  webhookDispatchSecret: read("WEBHOOK_DISPATCH_SECRET"),
  webhookSecretsKeys: read("WEBHOOK_SECRETS_KEYS"),
  webhookAllowedHosts: (read("WEBHOOK_ALLOWED_HOSTS") ?? "")
    .split(",")
    .map((host) => host.trim().toLowerCase())
    .filter(Boolean),
  port: read("PORT"),
  /** A deployment should set these; without, each switches something off or makes it guess. */
  unset: [
    ...["SITE_URL", "ADDRESS_HASH_KEY", "WEBHOOK_SECRETS_KEYS"].filter((name) => !read(name)),
    ...(read("ADDRESS_HEADER") || read("ADDRESS_FROM_SOCKET") === "true" ? [] : ["ADDRESS_HEADER"]),
  ],
};

function readModel(): LanguageModel | undefined {
  const [url, name] = [read("LANGUAGE_MODEL_URL"), read("LANGUAGE_MODEL_NAME")];
  return url && name ? { url, key: read("LANGUAGE_MODEL_KEY"), name } : undefined;
}

function read(name: string): string | undefined {
  return Deno.env.get(name) || undefined;
}
