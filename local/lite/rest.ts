import { decodeJwt } from "jose";
import { sql } from "kysely";
import { callBeforeRequest, jsonTypes, withRequest } from "../before-request.ts";
import { rejectEmbeddedFunctionResults } from "../embedded-functions.ts";
import { rejectUnfilteredWrite } from "../safe-update.ts";
import { authConfig, tokenIssuer } from "./auth-config.ts";
import { boundedSocket } from "./bounded-socket.ts";
import { maxResultBytes, restConnections } from "./limits.ts";
import { loadLite } from "./load.ts";
import { asPostgrest } from "./postgrest-errors.ts";
import { lowerBackendPriority, lowerOwnPriority } from "./priority.ts";
import { type LiteOptions, runService, type Service } from "./process.ts";

runService("rest", openRest);

type Load = Awaited<ReturnType<typeof loadLite>>;
type Executor = Parameters<ReturnType<typeof sql>["execute"]>[0];

/** PostgREST's protocol by @supabase/lite, with a login that has no rights until it assumes the role of a request. */
async function openRest({ databaseUrl, secrets, siteUrl }: LiteOptions): Promise<Service> {
  lowerOwnPriority();
  const { App, createPostgresConnection } = await loadLite();
  const schema = await readSchema(createPostgresConnection, databaseUrl);
  const connection = createPostgresConnection({
    url: databaseUrl,
    postgresOptions: {
      max: restConnections,
      onnotice: () => undefined,
      types: jsonTypes,
      connection: { application_name: "rest" },
      socket: ({ host, port }: { host: string[]; port: number[] }) =>
        boundedSocket(host[0] ?? "127.0.0.1", port[0] ?? 5432, maxResultBytes),
    } as object,
  });
  Object.assign(connection, {
    // Otherwise lite's first request would grant everything to the API roles and override column grants.
    rlsState: "active",
    introspect: async () => schema,
    normalizeDbError: asPostgrest,
    applyJwtSessionContext: takeRole,
  });
  callBeforeRequest(connection);
  const app = new App({
    connection,
    auth: authConfig(secrets, siteUrl),
    api: { enabled: true, schemas: ["public"], extra_search_path: ["public", "extensions"], max_rows: 1000 },
    db: { migrations: { enabled: false } },
    storage: { enabled: false },
    studio: { enabled: false },
    options: { server: { disableStudio: true, admin: false, middlewares: [withoutLookUp] } },
  });
  await app.init();
  const keys = new Set([secrets.publishable_key, secrets.secret_key]);
  const answer = async (request: Request) =>
    rejectToken(request, keys) ??
    rejectUnfilteredWrite(request) ??
    rejectEmbeddedFunctionResults(request) ??
    asBadBody(await withRequest(request, async () => app.fetch(request)), request);
  // Warms up: the first request is slow.
  await answer(
    new Request(`${siteUrl}/rest/v1/organizations?select=id&limit=0`, {
      headers: { apikey: secrets.publishable_key },
    }),
  );
  return { answer, close: () => connection.close() };
}

/** As service_role, because the login may see no table. */
async function readSchema(create: Load["createPostgresConnection"], url: string) {
  const reader = create({
    url,
    postgresOptions: { max: 1, onnotice: () => undefined, connection: { role: "service_role" } as object },
  });
  try {
    const schema = await reader.introspect();
    if (schema.tables.length === 0) throw new Error("the data API could not read the schema");
    return schema;
  } finally {
    await reader.close();
  }
}

interface Context {
  auth?: { role?: string; jwt?: { sub?: unknown } | null };
}

/**
 * lite looks up the user of a token in auth tables, which this login may not read. It responds the same for a missing
 * user.
 */
async function withoutLookUp(
  context: { set(name: "userId" | "sessionId", value: string): void },
  next: () => Promise<void>,
): Promise<void> {
  context.set("userId", "not looked up");
  context.set("sessionId", "not looked up");
  await next();
}

/**
 * Sets role, claims and statement timeout of a request in one statement. PostgREST applies role settings; lite does
 * not.
 */
async function takeRole(executor: Executor, { auth }: Context): Promise<void> {
  const role = auth?.role || "anon";
  const claims = auth?.jwt ? JSON.stringify(auth.jwt) : "";
  const { rows } = await sql<{
    pid: number;
  }>`select pg_backend_pid() as pid, set_config('role', ${role}, true),
    set_config('request.jwt.claim.sub', ${String(auth?.jwt?.sub ?? "")}, true),
    set_config('request.jwt.claim.role', ${role}, true),
    set_config('request.jwt.claims', ${claims}, true),
    case when setting is not null then set_config('statement_timeout', split_part(setting, '=', 2), true) end
    from (values (0)) once
    left join (pg_catalog.pg_roles r cross join unnest(r.rolconfig) setting)
      on r.rolname = ${role} and setting like 'statement_timeout=%'`.execute(executor);
  if (rows[0]) lowerBackendPriority(rows[0].pid);
}

/** lite treats an invalid bearer as anonymous and checks only signature and expiry of a token. */
function rejectToken(request: Request, keys: Set<string>): Response | undefined {
  const token = /^Bearer (.*)$/i.exec(request.headers.get("authorization") ?? "")?.[1]?.trim();
  if (!token || keys.has(token)) return undefined;
  // lite would treat a token without signature as anonymous.
  const claims = /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) ? claimsOf(token) : undefined;
  if (claims === undefined) return unauthorized("PGRST301", "JWT invalid");
  if (claims.iss !== tokenIssuer) return unauthorized("PGRST303", "JWT not of this issuer");
  if (![claims.aud].flat().includes("authenticated")) return unauthorized("PGRST303", "JWT not in audience");
  if (claims.exp === undefined) return unauthorized("PGRST303", "JWT without an expiry");
  return undefined;
}

/** Before lite verifies the signature. */
function claimsOf(token: string) {
  try {
    return decodeJwt(token);
  } catch {
    return undefined;
  }
}

const unauthorized = (code: string, message: string) =>
  Response.json({ code, details: null, hint: null, message }, { status: 401 });

/** lite throws on some bodies instead of rejecting them. */
async function asBadBody(answer: Response, request: Request): Promise<Response> {
  if (answer.status !== 500 || request.body === null) return answer;
  const { code, message } = (await answer
    .clone()
    .json()
    .catch(() => ({}))) as Record<string, unknown>;
  if (code !== "SUP" || !/^(?:RangeError|TypeError|Error: MAX_PARAMETERS)/.test(String(message)))
    return answer;
  return Response.json(
    {
      code: "PGRST102",
      details: null,
      hint: null,
      message: "The body could not be parsed: send an object, or an array of fewer objects.",
    },
    { status: 400 },
  );
}
