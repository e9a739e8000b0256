import type { LanguageModel } from "../sentiment/language-model.ts";

export const signInProviders = ["github", "google"] as const;
export const providerNames = { github: "GitHub", google: "Google" } as const;

/** Environment variables of the functions, read once; listed in docs/deploy.md. */
export const environment = {
  databaseUrl: read("DATABASE_URL"),
  databaseCa: read("DATABASE_CA"),
  databaseConnections: Number(read("DATABASE_CONNECTIONS") ?? 4),
  databaseWaitSeconds: Number(read("DATABASE_WAIT_SECONDS") ?? 4),
  /** Idle time after which a connection is closed. */
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
  /**
   * Header in which auth at supabaseUrl reads the visitor's address from the pages; the embedded stack generates its
   * name.
   */
  authAddressHeader: read("AUTH_ADDRESS_HEADER"),
  /**
   * Key with which the pages call auth, if auth accepts addresses with a secret key only; otherwise the publishable
   * key.
   */
  authApiKey: read("AUTH_API_KEY"),
  /** OAuth providers configured in auth, each with a sign-in button. */
  signInProviders: signInProviders.filter((name) =>
    (read("SIGN_IN_PROVIDERS") ?? "").split(",").includes(name),
  ),
  /** The CAPTCHA that auth asks for. The forms that it protects show its widget, and call auth with the publishable key. */
  captcha: readCaptcha(),
  addressHashKey: read("ADDRESS_HASH_KEY"),
  /** Key to store logos in Supabase Storage, preset on hosted Supabase. Without it a logo can only be a URL. */
  storageKey:
    read("STORAGE_KEY") ??
    Object.values(JSON.parse(read("SUPABASE_SECRET_KEYS") ?? "{}") as Record<string, string>)[0] ??
    read("SUPABASE_SERVICE_ROLE_KEY"),
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
  mailDatabaseUrl: read("MAIL_DATABASE_URL"),
  mailUrl: read("MAIL_URL"),
  mailFrom: read("MAIL_FROM"),
  mailLinkKeys: read("MAIL_LINK_KEYS"),
  /** Standard Webhooks secrets of auth's Send Email hook, and of the mail provider's webhooks. */
  authMailSecret: read("AUTH_MAIL_SECRET"),
  mailWebhookSecret: read("MAIL_WEBHOOK_SECRET"),
  mailTimeoutSeconds: Number(read("MAIL_TIMEOUT_SECONDS") ?? 20),
  /** Authenticates the operator during the setup of a new installation. */
  setupToken: read("SETUP_TOKEN"),
  port: read("PORT"),
  /** Variables a deployment should set; without them a feature is disabled or uses a default. */
  unset: [
    ...["SITE_URL", "ADDRESS_HASH_KEY", "WEBHOOK_SECRETS_KEYS", "WEBHOOK_DISPATCH_SECRET"].filter(
      (name) => !read(name),
    ),
    ...(read("ADDRESS_HEADER") || read("ADDRESS_FROM_SOCKET") === "true" ? [] : ["ADDRESS_HEADER"]),
  ],
};

function readCaptcha(): { provider: "turnstile" | "hcaptcha"; siteKey: string } | undefined {
  const [provider, siteKey] = [read("CAPTCHA_PROVIDER"), read("CAPTCHA_SITE_KEY")];
  return (provider === "turnstile" || provider === "hcaptcha") && siteKey ? { provider, siteKey } : undefined;
}

function readModel(): LanguageModel | undefined {
  const [url, name] = [read("LANGUAGE_MODEL_URL"), read("LANGUAGE_MODEL_NAME")];
  return url && name ? { url, key: read("LANGUAGE_MODEL_KEY"), name } : undefined;
}

function read(name: string): string | undefined {
  return Deno.env.get(name) || undefined;
}
