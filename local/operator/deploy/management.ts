import { createHash, createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { codeOf, messageOf, StartError } from "../../processes/start-error.ts";

const attempts = 4;
const timeoutSeconds = 30;
/** Supabase may ask for more; a person waits no longer. */
const longestPauseSeconds = 60;
const tokens = "https://supabase.com/dashboard/account/tokens";

const text = z.string();
const answers = {
  project: z.object({ name: text, region: text, status: text, database: z.object({ host: text }) }),
  apiKeys: z.array(z.object({ name: text, type: text.nullish(), api_key: text.nullish() })),
  pooler: z.array(z.object({ database_type: text, db_user: text, db_host: text })),
  secrets: z.array(z.object({ name: text, value: text })),
  functions: z.array(z.object({ slug: text, version: z.number(), verify_jwt: z.boolean().optional() })),
  authConfig: z.looseObject({ uri_allow_list: text.nullable() }),
};

/** The path after the project's, what it is for, and the permissions that a scoped access token needs to read and to change it. */
type Resource = readonly [path: string, noun: string, reads: string, changes?: string];
const resources = {
  project: ["", "the project", "project_admin_read"],
  apiKeys: ["/api-keys?reveal=true", "the API keys", "api_gateway_keys_read and api_gateway_keys_secret_read"],
  pooler: ["/config/database/pooler", "the pooler's address", "database_pooling_config_read"],
  functions: ["/functions", "the functions", "edge_functions_read"],
  secrets: ["/secrets", "the secrets of the functions", "edge_functions_secrets_read", "edge_functions_secrets_write"],
  authConfig: ["/config/auth", "the settings of auth", "auth_config_read", "auth_config_write and project_admin_write"],
} satisfies Record<string, Resource>;

export type Management = ReturnType<typeof managementOf>;

/** Supabase's Management API for one project. Each call can be repeated without a further effect. */
export function managementOf(
  ref: string,
  token: string,
  {
    url = process.env.SUPABASE_API_URL || "https://api.supabase.com",
    pause = (seconds: number): Promise<unknown> => sleep(seconds * 1000),
  } = {},
) {
  if (!/^[a-z]{20}$/.test(ref))
    throw new StartError("SUPABASE_PROJECT_ID is not a project reference: use the 20 letters of the project's address");
  // fetch would show the value of an invalid header.
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new StartError(`SUPABASE_ACCESS_TOKEN is not an access token: make one at ${tokens}`);
  const base = `${apiOrigin(url)}/v1/projects/${ref}`;

  async function call<T>(
    method: "GET" | "POST" | "PATCH",
    [path, noun, reads, changes = reads]: Resource,
    answer: z.ZodType<T>,
    body?: object,
  ): Promise<T> {
    const failed = (reason: string) =>
      new StartError(`Supabase does not ${method === "GET" ? "show" : "change"} ${noun}: ${reason}`);
    for (let attempt = 1; ; attempt++) {
      const response = await fetch(base + path, {
        method,
        headers: { Authorization: `Bearer ${token}`, ...(body ? { "Content-Type": "application/json" } : {}) },
        ...(body ? { body: JSON.stringify(body) } : {}),
        // The token goes to no other host.
        redirect: "error",
        signal: AbortSignal.timeout(timeoutSeconds * 1000),
      })
        .then(async (answered) => Object.assign(answered, { content: jsonOf(await answered.text()) }))
        .catch((error: Error) => error);
      if (!(response instanceof Error) && response.ok) {
        const parsed = answer.safeParse(response.content);
        if (parsed.success) return parsed.data;
        const [issue] = parsed.error.issues;
        throw failed(
          `field ${issue?.path.join(".") || "(all)"} of its answer is unknown (${issue?.message}): update this service`,
        );
      }
      const isFinal = !(response instanceof Error) && response.status < 500 && response.status !== 429;
      if (isFinal || attempt === attempts)
        throw failed(
          response instanceof Error
            ? `${new URL(base).host} does not answer (${codeOf(response.cause) ?? messageOf(response.cause ?? response)}): check the network`
            : reasonOf(
                response.status,
                withoutSecrets(messageIn(response.content), [token, ...stringsOf(body)]),
                ref,
                method === "GET" ? reads : changes,
              ),
        );
      const asked = response instanceof Error ? 0 : Number(response.headers.get("Retry-After"));
      await pause(Math.min(asked || 2 ** attempt, longestPauseSeconds));
    }
  }

  return {
    /** Fails for a project that is paused or not ready. */
    async project() {
      const project = await call("GET", resources.project, answers.project);
      if (!project.status.startsWith("ACTIVE_")) throw new StartError(notReady(ref, project.status));
      return project;
    },
    /** Of type publishable, secret or legacy, with their values. */
    apiKeys: () => call("GET", resources.apiKeys, answers.apiKeys),
    pooler: () => call("GET", resources.pooler, answers.pooler),
    functions: () => call("GET", resources.functions, answers.functions),
    secrets: {
      /** With digests in place of values: isDigestOf. */
      list: () => call("GET", resources.secrets, answers.secrets),
      set(values: Record<string, string>) {
        const body = Object.entries(values).map(([name, value]) => ({ name, value }));
        return call("POST", resources.secrets, z.unknown(), body);
      },
    },
    authConfig: {
      /** A secret is a digest: isDigestOf. */
      get: () => call("GET", resources.authConfig, answers.authConfig),
      patch: (fields: Record<string, string | boolean>) =>
        call("PATCH", resources.authConfig, answers.authConfig, fields),
    },
  };
}

/** Whether Supabase shows this digest for the value: SHA-256 for the functions' secrets, keyed by the reference in auth. */
export const isDigestOf = (digest: string, value: string, ref: string): boolean =>
  [createHash("sha256"), createHmac("sha256", ref)].some((hash) => hash.update(value).digest("hex") === digest);

function apiOrigin(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isHere = ["127.0.0.1", "localhost"].includes(url?.hostname ?? "");
  if (url && (url.protocol === "https:" || (url.protocol === "http:" && isHere))) return url.origin;
  throw new StartError("SUPABASE_API_URL is not an https address: unset it");
}

const messageIn = (content: unknown) => z.object({ message: text }).catch({ message: "" }).parse(content).message;

/** Why, and what to do. The message is what Supabase says. */
export function reasonOf(status: number, message: string, ref: string, permission: string): string {
  const answer = `${status}${message && `, ${message.replace(/[\s\p{C}]+/gu, " ").slice(0, 300)}`}`;
  const reasons: Record<number, string> = {
    401: `SUPABASE_ACCESS_TOKEN is wrong or expired: make one at ${tokens}`,
    402: `the plan of the project does not include it (${answer}): change the plan in the dashboard, under Billing`,
    403: `SUPABASE_ACCESS_TOKEN has no right to it: use a token with the permission ${permission}, or of an owner of the organization`,
    404: `this access token reaches no project ${ref}: check SUPABASE_PROJECT_ID`,
    429: "it has had too many requests: run this again in some minutes",
  };
  if (status >= 500) return `it answers ${answer}: look at status.supabase.com, then run this again`;
  return reasons[status] ?? `it answers ${answer}: look at the project in the dashboard, then run this again`;
}

const notReady = (ref: string, status: string) =>
  ["INACTIVE", "PAUSING"].includes(status)
    ? `the project ${ref} is paused: restore it in the dashboard, then run this again`
    : `the project ${ref} is ${status}: wait until the dashboard shows it as active, then run this again`;

function jsonOf(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}

const stringsOf = (value: unknown): string[] =>
  typeof value === "string" ? [value] : Object.values(value ?? {}).flatMap(stringsOf);

/** Supabase may repeat a part of the request. */
const withoutSecrets = (message: string, secrets: string[]) =>
  secrets.filter(({ length }) => length >= 12).reduce((shown, secret) => shown.replaceAll(secret, "…"), message);
