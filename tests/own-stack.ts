import { randomUUID } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { Agent } from "node:http";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, inject } from "vitest";
import { makeTemporaryFolder } from "../local/folders/temporary-folder.ts";
import { createApiKey } from "../local/operator/api-keys.ts";
import { type Stack, type StackOptions, startStack } from "../local/stack.ts";
import type { memberRoles } from "../shared/organizations.ts";
import type { Scope } from "../shared/scopes.ts";
import { copyTemplate, unsynced } from "./data-template.ts";
import { followErrors } from "./error-logs.ts";
import { type HttpAnswer, send } from "./http.ts";
import { manyUsers, type User } from "./stack.ts";

export type Person = User;

export interface Call {
  /** A user's access token or a key, sent as Bearer. */
  token?: string | undefined;
  /** An object is sent as JSON, text unchanged. */
  body?: unknown;
  headers?: Record<string, string>;
  /** Defaults to the functions' listener. */
  base?: string;
  /** Source address: on Linux, all of 127/8 is local. */
  from?: string;
}

export interface Answer extends HttpAnswer {
  body: { error?: { code?: string } & Record<string, unknown>; data?: Record<string, unknown> } & Record<
    string,
    unknown
  >;
}

const json = { "content-type": "application/json" };

/** A stack for one test file, with the default limits and one public organization. Runs the API and `parts`. */
export interface OwnStack extends Stack {
  folder: string;
  sql: postgres.Sql;
  organization: { id: string; slug: string };
  people(count: number, role?: (typeof memberRoles)[number]): Promise<Person[]>;
  person(role?: (typeof memberRoles)[number]): Promise<Person>;
  key(scopes: readonly Scope[], expiresAt?: Date): Promise<string>;
  submission(author: Person): Promise<string>;
  call(method: string, path: string, call?: Call): Promise<Answer>;
  functionsLog(): Promise<string>;
  remove(): Promise<void>;
}

/** The stack of a test file or of a describe block, which ends with it. */
export async function ownStack(options?: Parameters<typeof startOwnStack>[0]): Promise<OwnStack> {
  const own = await startOwnStack(options);
  afterAll(() => own.remove());
  return own;
}

export async function startOwnStack({
  withOrganization = true,
  ...options
}: Partial<StackOptions> & { withOrganization?: boolean } = {}): Promise<OwnStack> {
  const folder = await makeTemporaryFolder("own");
  const dataDir = options.dataDir ?? join(folder, "data");
  const starting = async () => {
    if (options.migrations === undefined) await copyTemplate(inject("template"), dataDir, "none");
    const postgresSettings = { ...unsynced, ...options.postgresSettings };
    // On a busy machine, auth and the data API can be slow without any fault.
    const limits = { slowWorkMs: Number.MAX_SAFE_INTEGER, ...options.limits };
    const given = { maxSilenceMs: 60_000, ...options, dataDir, postgresSettings, limits };
    return startStack({ port: 0, dbPort: 0, seed: "none", parts: [], ...given });
  };
  const stack = await starting().catch(async (error: unknown) => {
    await rm(folder, { recursive: true, force: true });
    throw error;
  });
  const keepErrors = followErrors(dataDir);
  const sql = postgres(stack.db_url, { max: 2, onnotice: () => undefined });
  const slug = `o-${randomUUID()}`;
  const [organization] = withOrganization
    ? await sql<{ id: string }[]>`
        insert into public.organizations (slug, name, is_default) values (${slug}, 'Own', ${options.seed !== "demo"}) returning id`
    : [{ id: randomUUID() }];
  if (!organization) throw new Error("no organization was made");
  const agent = new Agent({ keepAlive: true });

  const people: OwnStack["people"] = async (count, role) => {
    const created = await manyUsers(count, sql, stack.jwtSecret);
    if (role) {
      await sql`insert into public.memberships ${sql(created.map(({ id }) => ({ organization_id: organization.id, user_id: id, role })))}`;
    }
    return created;
  };

  return {
    ...stack,
    folder: dataDir,
    sql,
    organization: { id: organization.id, slug },
    people,
    async person(role) {
      const [person] = await people(1, role);
      if (!person) throw new Error("the user is missing");
      return person;
    },
    key: (scopes, expiresAt) => createApiKey(sql, organization.id, "Key of a test", scopes, expiresAt ?? null),
    async submission(author) {
      const [created] = await sql<{ id: string }[]>`
        insert into public.submissions (organization_id, author_id, title, description, type)
        values (${organization.id}, ${author.id}, 'A submission', 'A description that is long enough.', 'idea') returning id`;
      if (!created) throw new Error("no submission was made");
      return created.id;
    },
    async call(method, path, { base = stack.base_url, body, ...rest } = {}) {
      const payload = typeof body === "string" ? { raw: body, headers: { ...json, ...rest.headers } } : { body };
      const answer = await send(method, base + path, { ...rest, ...payload, agent });
      return { ...answer, body: answer.body ?? {} } as Answer;
    },
    functionsLog: () => readFile(join(dataDir, "functions.log"), "utf8"),
    async remove() {
      agent.destroy();
      await sql.end({ timeout: 1 }).catch(() => undefined);
      await stack.stop();
      await keepErrors();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
