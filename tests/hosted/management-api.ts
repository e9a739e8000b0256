import { createHash, createHmac, randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { root } from "../../local/postgres/database-server.ts";

/**
 * A stand-in for Supabase's Management API of one project, made from its description (management-api.json): it refuses,
 * and reports in `violations`, each path, parameter and field that is not in the description, and it answers as described.
 */
export interface ManagementApi {
  url: string;
  ref: string;
  token: string;
  /** For our client and for the Supabase CLI. */
  environment: Record<string, string>;
  /** Requests, and answers of this stand-in, that do not fit the description. */
  violations: string[];
  calls: Call[];
  state: State;
  /** Answers in place of the operation. */
  fault: (call: Call) => Fault | undefined;
  stop(): Promise<void>;
}

interface Call {
  operation: string;
  query: Record<string, string>;
  body: unknown;
  /** From 1, of this operation. */
  count: number;
}

export interface Fault {
  status: number;
  message?: string;
  headers?: Record<string, string>;
  /** Sent instead of JSON. */
  text?: string;
}

interface State {
  status: string;
  /** Of the database, for direct connections. */
  databaseHost: string;
  /** Of the token; absent: all. */
  permissions?: string[];
  /** Hidden in answers: their digests are shown. */
  secrets: Map<string, string>;
  authConfig: Record<string, unknown>;
  functions: Map<string, Deployed>;
  apiKeys: { name: string; type: string; api_key: string }[];
  pooler: Record<string, unknown>[];
  /** Of the files of one function. */
  maxFunctionBytes: number;
  /** The files of each function of the newest upload. */
  uploads: Map<string, Upload>;
}

export interface Upload {
  files: Map<string, Uint8Array<ArrayBuffer>>;
  metadata: { entrypoint_path: string; import_map_path?: string; static_patterns?: string[]; verify_jwt?: boolean };
}

type Deployed = { slug: string; version: number } & Record<string, unknown>;
type Schema = { [key: string]: unknown };
interface Operation {
  operationId: string;
  "x-permissions": string[];
  parameters: { name: string; in: "path" | "query"; required: boolean; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: { "application/json": { schema: Schema } } }>;
}

interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

const description = JSON.parse(
  await readFile(join(root, "tests", "hosted", "management-api.json"), "utf8"),
) as Description;

export async function startManagementApi(): Promise<ManagementApi> {
  const ref = "abcdefghijklmnopqrst";
  const token = `sbp_${createHash("sha1").update(randomUUID()).digest("hex")}`;
  const folder = await mkdtemp(join(tmpdir(), "management-"));
  const state: State = {
    status: "ACTIVE_HEALTHY",
    databaseHost: `db.${ref}.supabase.co`,
    secrets: new Map(),
    authConfig: sampleOf(responseOf("v1GetAuthServiceConfig")) as Record<string, unknown>,
    functions: new Map(),
    apiKeys: [
      { name: "default", type: "publishable", api_key: `sb_publishable_${randomUUID()}` },
      { name: "default", type: "secret", api_key: `sb_secret_${randomUUID()}` },
    ],
    pooler: [
      {
        identifier: ref,
        database_type: "PRIMARY",
        is_using_scram_auth: true,
        db_user: `postgres.${ref}`,
        db_host: "aws-1-eu-central-1.pooler.supabase.com",
        db_port: 6543,
        db_name: "postgres",
        connection_string: "",
        connectionString: "",
        default_pool_size: null,
        max_client_conn: null,
        pool_mode: "transaction",
      },
    ],
    maxFunctionBytes: 5_000_000,
    uploads: new Map(),
  };
  const api: Omit<ManagementApi, "url" | "environment" | "stop"> = {
    ref,
    token,
    violations: [],
    calls: [],
    state,
    fault: () => undefined,
  };

  const server = createServer(async (request, response) => {
    const answer = await answerTo(api, request).catch((error: Error) => {
      api.violations.push(`the stand-in failed: ${error.stack}`);
      return { status: 500, message: "the stand-in failed" };
    });
    if ("text" in answer && answer.text !== undefined) return void response.writeHead(answer.status).end(answer.text);
    const { status, headers } = answer as Fault;
    const body = "body" in answer ? answer.body : { message: (answer as Fault).message ?? "" };
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    response.end(body === undefined ? "" : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const profile = join(folder, "profile.json");
  const hosts = { project_host: "supabase.co", pooler_host: "supabase.com" };
  await writeFile(profile, JSON.stringify({ name: "stand-in", api_url: url, dashboard_url: url, ...hosts }));
  return Object.assign(api, {
    url,
    environment: {
      SUPABASE_ACCESS_TOKEN: token,
      SUPABASE_API_URL: url,
      // Of the CLI, which reads its addresses from a profile.
      SUPABASE_PROFILE: profile,
      SUPABASE_HOME: folder,
      SUPABASE_TELEMETRY_DISABLED: "1",
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true, force: true });
    },
  });
}

type Answer = Fault | { status: number; body: unknown };

async function answerTo(
  api: Omit<ManagementApi, "url" | "environment" | "stop">,
  request: IncomingMessage,
): Promise<Answer> {
  const { state, violations } = api;
  const bytes = await bytesOf(request);
  const url = new URL(request.url ?? "/", "http://127.0.0.1");
  const found = operationAt(request.method ?? "", url.pathname);
  const refused = (problem: string): Fault => {
    violations.push(`${request.method} ${url.pathname}: ${problem}`);
    return { status: 400, message: problem };
  };
  if (!found) {
    violations.push(`${request.method} ${url.pathname} is not in the description`);
    return { status: 404, message: "Not Found" };
  }
  const { operation, path } = found;
  const query = Object.fromEntries(url.searchParams);
  for (const { name, required, schema, ...parameter } of operation.parameters) {
    const value = (parameter.in === "path" ? path : query)[name];
    if (value === undefined && !required) continue;
    const problem = problemOf(schema, schema.type === "integer" ? Number(value) : value);
    if (problem) return refused(`parameter ${name}: ${problem}`);
  }
  const named = operation.parameters.map(({ name }) => name);
  const unknown = Object.keys(query).filter((name) => !named.includes(name));
  if (unknown.length > 0) return refused(`parameter ${unknown.join(", ")} is not in the description`);

  const type = request.headers["content-type"]?.split(";")[0] ?? "";
  const { body, upload } = await bodyOf(bytes, request.headers["content-type"] ?? "");
  if (operation.requestBody) {
    const described = operation.requestBody.content[type];
    if (!described) return refused(`content type ${type || "(none)"}`);
    const problem = problemOf(described.schema, body);
    if (problem) return refused(problem);
  } else if (bytes.length > 0) return refused("a body is not described");

  const count = api.calls.filter(({ operation: name }) => name === operation.operationId).length + 1;
  const call: Call = { operation: operation.operationId, query, body, count };
  api.calls.push(call);
  if (request.headers.authorization !== `Bearer ${api.token}`) return { status: 401, message: "Unauthorized" };
  if (path.ref !== api.ref) return { status: 404, message: "Project not found" };
  if (state.permissions && !operation["x-permissions"].every((needed) => state.permissions?.includes(needed)))
    return { status: 403, message: "Forbidden action" };
  const fault = api.fault(call);
  if (fault) return fault;

  const answer = perform(api, call, path, upload);
  if ("message" in answer) return answer;
  const [status = "", described] = Object.entries(operation.responses)[0] ?? [];
  const schema = described?.content?.["application/json"].schema;
  const problem = schema && problemOf(schema, (answer as { body: unknown }).body);
  if (problem) violations.push(`the answer of ${operation.operationId}: ${problem}`);
  return { ...answer, status: Number(status) };
}

/** The operation as the real API has it, as far as a deployment sees. */
function perform(
  { state, ref }: Pick<ManagementApi, "state" | "ref">,
  { operation, query, body }: Call,
  path: Record<string, string>,
  upload: Upload | undefined,
): { body: unknown } | Fault {
  switch (operation) {
    case "v1GetProject":
      return {
        body: {
          id: ref,
          ref,
          organization_id: "example",
          organization_slug: "example",
          name: "Feedback",
          region: "eu-central-1",
          created_at: new Date(0).toISOString(),
          status: state.status,
          database: { host: state.databaseHost, version: "17.6.1.054", postgres_engine: "17", release_channel: "ga" },
        },
      };
    case "v1GetProjectApiKeys":
      return {
        body: state.apiKeys.map((key) =>
          query.reveal === "true" || key.type !== "secret"
            ? key
            : { ...key, api_key: `${key.api_key.slice(0, 14)}···` },
        ),
      };
    case "v1GetPoolerConfig":
      return { body: state.pooler };
    case "v1ListAllSecrets":
      return {
        body: [...state.secrets].map(([name, value]) => ({
          name,
          value: createHash("sha256").update(value).digest("hex"),
        })),
      };
    case "v1BulkCreateSecrets":
      for (const { name, value } of body as { name: string; value: string }[]) state.secrets.set(name, value);
      return { body: undefined };
    case "v1UpdateAuthServiceConfig":
      for (const [name, value] of Object.entries(body as Record<string, unknown>))
        state.authConfig[name] = isSecretSetting(name) && value ? keyed(ref, String(value)) : value;
      return { body: state.authConfig };
    case "v1GetAuthServiceConfig":
      return { body: state.authConfig };
    case "v1ListAllFunctions":
      return { body: [...state.functions.values()] };
    case "v1GetAFunction": {
      const found = state.functions.get(path.function_slug ?? "");
      return found ? { body: found } : { status: 404, message: "Function not found" };
    }
    case "v1DeployAFunction": {
      const slug = query.slug ?? "";
      const { files, metadata } = upload as Upload;
      const size = [...files.values()].reduce((sum, { length }) => sum + length, 0);
      if (size > state.maxFunctionBytes)
        return { status: 413, message: "Function source code exceeds the maximum deployment size" };
      if (!files.has(metadata.entrypoint_path)) return { status: 400, message: "Entrypoint path does not exist" };
      state.uploads.set(slug, { files, metadata });
      const hash = createHash("sha256");
      for (const content of files.values()) hash.update(content);
      const deployed: Deployed = {
        id: state.functions.get(slug)?.id ?? randomUUID(),
        slug,
        name: slug,
        status: "ACTIVE",
        version: (state.functions.get(slug)?.version ?? 0) + 1,
        created_at: 0,
        updated_at: 0,
        verify_jwt: metadata.verify_jwt ?? true,
        import_map: Boolean(metadata.import_map_path),
        entrypoint_path: metadata.entrypoint_path,
        ezbr_sha256: hash.digest("hex"),
      };
      if (query.bundleOnly !== "true") state.functions.set(slug, deployed);
      return { body: deployed };
    }
    case "v1BulkUpdateFunctions": {
      const functions = (body as Deployed[]).map((each) => ({ created_at: 0, updated_at: 0, ...each }));
      for (const each of functions) state.functions.set(each.slug, each);
      return { body: { functions } };
    }
    default:
      throw new Error(`${operation} is described but not made`);
  }
}

function operationAt(method: string, pathname: string) {
  const parts = pathname.split("/");
  for (const [template, operations] of Object.entries(description.paths)) {
    const names = template.split("/");
    const operation = operations[method.toLowerCase()];
    if (!operation || names.length !== parts.length) continue;
    const path: Record<string, string> = {};
    const fits = names.every((name, index) => {
      const part = parts[index] ?? "";
      if (!name.startsWith("{")) return name === part;
      path[name.slice(1, -1)] = decodeURIComponent(part);
      return true;
    });
    if (fits) return { operation, path };
  }
  return undefined;
}

function responseOf(operationId: string): Schema {
  const operation = Object.values(description.paths)
    .flatMap((operations) => Object.values(operations))
    .find((each) => each.operationId === operationId);
  return operation?.responses["200"]?.content?.["application/json"].schema ?? {};
}

/** The first problem, or undefined. Fields that are not described are problems. */
function problemOf(schema: Schema, value: unknown): string | undefined {
  const parsed = z.fromJSONSchema(closed(schema) as Parameters<typeof z.fromJSONSchema>[0]).safeParse(value);
  const [issue] = parsed.error?.issues ?? [];
  return issue && `${issue.path.join(".") || "(all)"}: ${issue.message}`;
}

function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const { $ref } = schema as { $ref?: string };
  if ($ref) return closed(description.components.schemas[$ref.split("/").at(-1) ?? ""]);
  const copy = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  return "properties" in schema ? { additionalProperties: false, ...copy } : copy;
}

/** The least value that fits: null, off, empty. */
function sampleOf(schema: Schema): unknown {
  const { type, enum: values, properties, minimum = 0 } = closed(schema) as Sampled;
  if (properties) return Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, sampleOf(each)]));
  if (type?.includes("null")) return null;
  if (values) return values[0];
  return { string: "", boolean: false, array: [], integer: minimum, number: minimum }[String(type)];
}

interface Sampled {
  type?: string | string[];
  enum?: unknown[];
  properties?: Record<string, Schema>;
  minimum?: number;
}

async function bytesOf(request: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function bodyOf(bytes: Buffer<ArrayBuffer>, type: string): Promise<{ body: unknown; upload?: Upload }> {
  if (type.startsWith("application/json")) return { body: bytes.length > 0 ? jsonOf(bytes.toString()) : undefined };
  if (!type.startsWith("multipart/form-data")) return { body: undefined };
  const form = await new Response(bytes, { headers: { "Content-Type": type } }).formData();
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const file of form.getAll("file"))
    if (file instanceof File) files.set(file.name, new Uint8Array(await file.arrayBuffer()));
  const metadata = jsonOf(String(form.get("metadata"))) as Upload["metadata"];
  const fields = Object.fromEntries([...form.keys()].map((name) => [name, ""]));
  // A file's content is of no schema.
  return { body: { ...fields, file: [...files.keys()], metadata }, upload: { files, metadata } };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Settings of auth that are shown as digests, as the CLI's comparison of them shows. */
const isSecretSetting = (name: string) => /_secrets?$|_pass$|_token$/.test(name);
const keyed = (ref: string, value: string) => createHmac("sha256", ref).update(value).digest("hex");
