import { decodeJwt } from "jose";
import { sql } from "kysely";
import { callBeforeRequest, jsonTypes, withRequest } from "../before-request.ts";
import { refuseEmbeddingInAnswer } from "../function-answers.ts";
import { refuseUnfiltered } from "../safe-update.ts";
import { authConfig, tokenIssuer } from "./auth-config.ts";
import { boundedSocket } from "./bounded-socket.ts";
import { largestAnswer, restConnections } from "./limits.ts";
import { loadLite } from "./load.ts";
import { asPostgrest } from "./postgrest-errors.ts";
import { type LiteOptions, runService, type Service } from "./process.ts";

runService("rest", openRest);

type Load = Awaited<ReturnType<typeof loadLite>>;
type Executor = Parameters<ReturnType<typeof sql>["execute"]>[0];

/** PostgREST's protocol by @supabase/lite, on a login that has no rights until it takes the role of a request. */
async function openRest({ databaseUrl, secrets, siteUrl }: LiteOptions): Promise<Service> {
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
        boundedSocket(host[0] ?? "127.0.0.1", port[0] ?? 5432, largestAnswer),
    } as object,
  });
  Object.assign(connection, {
    // Else lite's first request would grant everything to the API roles and so undo column grants.
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
    refuseToken(request, keys) ??
    refuseUnfiltered(request) ??
    refuseEmbeddingInAnswer(request) ??
    asBadBody(await withRequest(request, async () => app.fetch(request)), request);
  // The first request takes longer than those after it.
  await answer(
    new Request(`${siteUrl}/rest/v1/organizations?select=id&limit=0`, {
      headers: { apikey: secrets.publishable_key },
    }),
  );
  return { answer, close: () => connection.close() };
}

/** As service_role: the login itself may see no table. */
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

/** lite looks a token's user up in auth's tables, which this login may not read, and answers the same if they are gone. */
async function withoutLookUp(
  context: { set(name: "userId" | "sessionId", value: string): void },
  next: () => Promise<void>,
): Promise<void> {
  context.set("userId", "not looked up");
  context.set("sessionId", "not looked up");
  await next();
}

/** Takes the role, claims and time limit of a request in one statement. PostgREST applies a role's settings; lite does not. */
async function takeRole(executor: Executor, { auth }: Context): Promise<void> {
  const role = auth?.role || "anon";
  const claims = auth?.jwt ? JSON.stringify(auth.jwt) : "";
  await sql`select set_config('role', ${role}, true),
    set_config('request.jwt.claim.sub', ${String(auth?.jwt?.sub ?? "")}, true),
    set_config('request.jwt.claim.role', ${role}, true),
    set_config('request.jwt.claims', ${claims}, true),
    case when setting is not null then set_config('statement_timeout', split_part(setting, '=', 2), true) end
    from (values (0)) once
    left join (pg_catalog.pg_roles r cross join unnest(r.rolconfig) setting)
      on r.rolname = ${role} and setting like 'statement_timeout=%'`.execute(executor);
}

/** lite takes a bearer that is no token for nobody, and asks of a token for its signature and time alone. */
function refuseToken(request: Request, keys: Set<string>): Response | undefined {
  const token = /^Bearer (.*)$/i.exec(request.headers.get("authorization") ?? "")?.[1]?.trim();
  if (!token || keys.has(token)) return undefined;
  const claims = claimsOf(token);
  if (claims === undefined) return unauthorized("PGRST301", "JWT invalid");
  if (claims.iss !== tokenIssuer) return unauthorized("PGRST303", "JWT not of this issuer");
  if (![claims.aud].flat().includes("authenticated")) return unauthorized("PGRST303", "JWT not in audience");
  if (claims.exp === undefined) return unauthorized("PGRST303", "JWT without an expiry");
  return undefined;
}

/** Before the signature is verified, which lite does. */
function claimsOf(token: string) {
  try {
    return decodeJwt(token);
  } catch {
    return undefined;
  }
}

const unauthorized = (code: string, message: string) =>
  Response.json({ code, details: null, hint: null, message }, { status: 401 });

/** lite fails at some bodies instead of refusing them, and tells how. */
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
      message: "The body could not be read: send an object, or an array of fewer objects.",
    },
    { status: 400 },
  );
}
