import { siteOrigin, siteUrlAdvice } from "../../../shared/site-url.ts";
import type { LanguageModel } from "../sentiment/language-model.ts";

export const signInProviders = ["github", "google"] as const;
export const providerNames = { github: "GitHub", google: "Google" } as const;

const localUrl = "http://127.0.0.1:54321";

/** Environment variables of the functions, read once; listed in docs/deploy.md. */
export const environment = {
  databaseUrl: read("DATABASE_URL"),
  databaseCa: read("DATABASE_CA"),
  databaseConnections: readNumber("DATABASE_CONNECTIONS", 4),
  databaseWaitSeconds: readNumber("DATABASE_WAIT_SECONDS", 4),
  /** Idle time after which a connection is closed. */
  databaseIdleSeconds: readNumber("DATABASE_IDLE_SECONDS", 30),
  databasePrepare: read("DATABASE_PREPARE") !== "false",
  supabaseUrl: readAddress("SUPABASE_URL") ?? localUrl,
  siteUrl: readSite("SITE_URL") ?? readAddress("SUPABASE_URL") ?? localUrl,
  jwtSecret: read("JWT_SECRET"),
  jwks: read("SUPABASE_JWKS"),
  jwtIssuers: readList("JWT_ISSUERS", `${readAddress("SUPABASE_URL") ?? localUrl}/auth/v1`),
  publicKeys: new Set([
    ...readKeys("SUPABASE_PUBLISHABLE_KEYS"),
    ...[read("SUPABASE_ANON_KEY")].filter((key) => key !== undefined),
  ]),
  addressHeader: read("ADDRESS_HEADER"),
  addressFromSocket: read("ADDRESS_FROM_SOCKET") === "true",
  /** Known to the pages' proxy, whose word on the client's address and host is believed. */
  proxySecret: read("PROXY_SECRET"),
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
  signInProviders: signInProviders.filter((name) => readList("SIGN_IN_PROVIDERS").includes(name)),
  /** The CAPTCHA that auth asks for. The forms that it protects show its widget, and call auth with the publishable key. */
  captcha: readCaptcha(),
  addressHashKey: read("ADDRESS_HASH_KEY"),
  /** Key to store logos in Supabase Storage, preset on hosted Supabase. Without it a logo can only be a URL. */
  storageKey: read("STORAGE_KEY") ?? readKeys("SUPABASE_SECRET_KEYS")[0] ?? read("SUPABASE_SERVICE_ROLE_KEY"),
  /** MCP_ALLOWED_HOSTS is the name in version 0.1.0. */
  allowedHosts: [...readList("ALLOWED_HOSTS"), ...readList("MCP_ALLOWED_HOSTS")],
  languageModel: readModel(),
  webhookDatabaseUrl: read("WEBHOOK_DATABASE_URL"),
  webhookDispatchSecret: read("WEBHOOK_DISPATCH_SECRET"),
  webhookSecretsKeys: read("WEBHOOK_SECRETS_KEYS"),
  webhookAllowedHosts: readList("WEBHOOK_ALLOWED_HOSTS").map((host) => host.toLowerCase()),
  mailDatabaseUrl: read("MAIL_DATABASE_URL"),
  mailUrl: read("MAIL_URL"),
  mailFrom: readSender("MAIL_FROM"),
  mailLinkKeys: read("MAIL_LINK_KEYS"),
  /** Standard Webhooks secrets of auth's Send Email hook, and of the mail provider's webhooks. */
  authMailSecret: read("AUTH_MAIL_SECRET"),
  mailWebhookSecret: read("MAIL_WEBHOOK_SECRET"),
  mailTimeoutSeconds: readNumber("MAIL_TIMEOUT_SECONDS", 20),
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
  if (provider === undefined || provider === "turnstile" || provider === "hcaptcha")
    return provider && siteKey ? { provider, siteKey } : undefined;
  return refuse("CAPTCHA_PROVIDER", provider, "turnstile or hcaptcha");
}

function readModel(): LanguageModel | undefined {
  const [url, name] = [readAddress("LANGUAGE_MODEL_URL"), read("LANGUAGE_MODEL_NAME")];
  return url && name ? { url, key: read("LANGUAGE_MODEL_KEY"), name } : undefined;
}

/** The address in `name@example.org` or `Name <name@example.org>`. The name of a mail's sender is the organization's. */
function readSender(name: string): string | undefined {
  const text = read(name);
  if (text === undefined) return undefined;
  const address = /^[^<>]*<([^<>]+)>\s*$/.exec(text)?.[1] ?? text;
  if (/^[^\s<>@"]+@[^\s<>@"]+$/.test(address.trim())) return address.trim();
  return refuse(name, text, "an address such as feedback@example.org or Feedback <feedback@example.org>");
}

/** Without a slash at its end. */
function readAddress(name: string): string | undefined {
  const text = read(name)?.replace(/\/+$/, "");
  if (text === undefined || (/^https?:/.test(text) && URL.canParse(text))) return text;
  return refuse(name, text, "an address such as https://feedback.example.org");
}

function readSite(name: string): string | undefined {
  const text = read(name);
  return text && (siteOrigin(text) ?? refuse(name, text, siteUrlAdvice));
}

function readNumber(name: string, fallback: number): number {
  const text = read(name);
  if (text === undefined) return fallback;
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : refuse(name, text, "a number");
}

function readList(name: string, fallback = ""): string[] {
  const entries = (read(name) ?? fallback).split(",");
  return entries.map((entry) => entry.trim()).filter(Boolean);
}

/** The message shows no value, which may be a secret. */
function readKeys(name: string): string[] {
  try {
    return Object.values(JSON.parse(read(name) ?? "{}") as Record<string, string>);
  } catch {
    throw new Error(`${name} is not JSON: set it to an object such as {"default": "sb_…"} (docs/deploy.md)`);
  }
}

function refuse(name: string, text: string, expected: string): never {
  throw new Error(`${name} is ${JSON.stringify(text)}: set it to ${expected} (docs/deploy.md)`);
}

function read(name: string): string | undefined {
  return Deno.env.get(name) || undefined;
}
