import { AsyncLocalStorage } from "node:async_hooks";
import { createAuthGuard } from "./auth/guard.ts";
import { openLimits } from "./auth/limits.ts";
import { changeLite } from "./auth/lite-service.ts";
import { mailFile } from "./auth/mail-file.ts";
import { tokenSecrets } from "./auth/token-secrets.ts";
import { authConfig, tokenIssuer } from "./auth-config.ts";
import { callBeforeRequest, jsonTypes, withRequest } from "./before-request.ts";
import type { Secrets } from "./data-folder.ts";
import { loadLite } from "./lite.ts";
import { refuseUnfiltered } from "./safe-update.ts";

export interface AuthAndRest {
  /** Answers /auth/v1 and /rest/v1; never hand it /_system. Without the client's address it is the launcher who calls. */
  fetch(request: Request, clientAddress?: string): Promise<Response>;
  close(): Promise<void>;
}

export interface AuthAndRestOptions {
  /** Of lite's login. */
  url: string;
  /** Of the login that counts tries at /auth/v1. */
  limitsUrl: string;
  secrets: Secrets;
  siteUrl: string;
  /** Where codes and links go, as nothing is sent. */
  mailPath: string;
}

/**
 * @supabase/lite on a login that owns nothing. As owner or superuser its first request would grant everything to
 * the API roles and so undo column grants; it believes here that this is done, and could not do it.
 */
export async function openAuthAndRest(options: AuthAndRestOptions): Promise<AuthAndRest> {
  const { url, secrets, siteUrl } = options;
  const { App, createPostgresConnection } = await loadLite();
  const connection = createPostgresConnection({
    url,
    postgresOptions: { max: 10, onnotice: () => undefined, types: jsonTypes },
  });
  Object.assign(connection, { rlsState: "active", normalizeDbError: asPostgrest });
  callBeforeRequest(connection);
  const tokens = tokenSecrets(secrets.jwt_secret);
  const middleware = changeLite(tokens, secrets.jwt_secret, tokenIssuer);
  const app = new App({
    connection,
    auth: authConfig(secrets, siteUrl),
    api: { enabled: true, schemas: ["public"], extra_search_path: ["public", "extensions"], max_rows: 1000 },
    db: { migrations: { enabled: false } },
    storage: { enabled: false },
    studio: { enabled: false },
    options: {
      server: { disableStudio: true, admin: false, middlewares: [middleware] },
      drivers: { email: mailFile(options.mailPath) },
    },
  });
  await app.init();
  await connection.clearSchemaCache();
  const keys = new Set([secrets.publishable_key, secrets.secret_key]);
  const limits = openLimits(options.limitsUrl, secrets.address_hash_key);
  const guard = createAuthGuard({
    limits,
    secrets: tokens,
    jwtSecret: secrets.jwt_secret,
    publishableKey: secrets.publishable_key,
  });
  const lite = (request: Request) =>
    withRequest(request, () => withoutErrorOutput(async () => app.fetch(request)));
  const answer = async (request: Request, clientAddress?: string) => {
    if (new URL(request.url).pathname.startsWith("/auth/v1")) return guard(request, clientAddress, lite);
    return refuseNoToken(request, keys) ?? refuseUnfiltered(request) ?? lite(request);
  };
  await warmUp(answer, secrets);
  return {
    fetch: answer,
    async close() {
      await limits.close();
      await connection.close();
    },
  };
}

/** lite takes a bearer that is no token for nobody; PostgREST refuses it. */
function refuseNoToken(request: Request, keys: Set<string>): Response | undefined {
  const token = /^Bearer (.*)$/i.exec(request.headers.get("authorization") ?? "")?.[1]?.trim();
  if (!token || keys.has(token) || /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return undefined;
  if (!new URL(request.url).pathname.startsWith("/rest/v1")) return undefined;
  return Response.json(
    { code: "PGRST301", details: null, hint: null, message: "JWT invalid" },
    { status: 401 },
  );
}

// What lite answers by itself as PostgREST would; of the rest it would make a 500 without code or details.
const known = /^(?:PGRST|PT\d{3}|42|22|21|55|53|23502|23503|23505|25006)/;
const forbidden = /^(?:28|0L|0P)/;
const broken = /^(?:08|09|25|2D|38|39|3B|40|54|57|58|F0|HV|P0(?!001)|XX)/;

/** Other errors of the database, our own SQLSTATEs among them, in the form lite passes on as it stands. */
export function asPostgrest(error: unknown): unknown {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return error;
  if (!/^[0-9A-Z]{5}$/.test(error.code) || known.test(error.code)) return error;
  const { code, message } = error;
  const details = "detail" in error ? (error.detail ?? null) : null;
  const hint = "hint" in error ? (error.hint ?? null) : null;
  const status = forbidden.test(code) ? 403 : broken.test(code) ? 500 : 400;
  return {
    code: "PGRST",
    message: JSON.stringify({ code, message, details, hint }),
    detail: JSON.stringify({ status, headers: {} }),
  };
}

/** The first request reads the schema, which takes a while. */
async function warmUp(answer: AuthAndRest["fetch"], secrets: Secrets): Promise<void> {
  const response = await answer(
    new Request("http://127.0.0.1/rest/v1/organizations?select=id&limit=0", {
      headers: { apikey: secrets.publishable_key },
    }),
  );
  await response.arrayBuffer();
}

// lite prints every refused statement, rows and all; Postgres's own log has what is needed of it.
const insideLite = new AsyncLocalStorage<true>();
const printError = console.error;
console.error = (...parts: unknown[]) => {
  if (!insideLite.getStore()) printError(...parts);
};

function withoutErrorOutput<Result>(use: () => Promise<Result>): Promise<Result> {
  return insideLite.run(true, use);
}
