import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { createApiKey } from "../local/api-keys.ts";
import { type Stack, type StackOptions, startStack } from "../local/stack.ts";
import type { memberRoles } from "../shared/organizations.ts";
import type { Scope } from "../shared/scopes.ts";
import { type HttpAnswer, send } from "./http.ts";
import { manyUsers, type User } from "./stack.ts";

export type Person = User;

export interface Call {
  /** A user's access token or a key, sent as Bearer. */
  token?: string | undefined;
  /** An object is sent as JSON, text as it is. */
  body?: unknown;
  headers?: Record<string, string>;
  /** When not the functions' own listener. */
  base?: string;
  /** The loopback address to call from: Linux has all of 127/8. */
  from?: string;
}

export interface Answer extends HttpAnswer {
  body: { error?: { code?: string } & Record<string, unknown>; data?: Record<string, unknown> } & Record<
    string,
    unknown
  >;
}

const json = { "content-type": "application/json" };

/** A stack of a test file's own, with the real limits, and one public organization in it. */
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

export async function startOwnStack(options: Partial<StackOptions> = {}): Promise<OwnStack> {
  const folder = await mkdtemp(join(tmpdir(), "feedback-own-"));
  const dataDir = options.dataDir ?? join(folder, "data");
  const stack = await startStack({ port: 0, dbPort: 0, seed: "none", ...options, dataDir }).catch(
    async (error: unknown) => {
      await rm(folder, { recursive: true, force: true });
      throw error;
    },
  );
  const sql = postgres(stack.db_url, { max: 2, onnotice: () => undefined });
  const slug = `o-${randomUUID()}`;
  const [organization] = await sql<{ id: string }[]>`
    insert into public.organizations (slug, name, is_default) values (${slug}, 'Own', true) returning id`;
  if (!organization) throw new Error("no organization was made");
  const agent = new Agent({ keepAlive: true });

  const people: OwnStack["people"] = async (count, role) => {
    const made = await manyUsers(count, sql, stack.jwtSecret);
    if (role) {
      await sql`insert into public.memberships ${sql(made.map(({ id }) => ({ organization_id: organization.id, user_id: id, role })))}`;
    }
    return made;
  };

  return {
    ...stack,
    folder: dataDir,
    sql,
    organization: { id: organization.id, slug },
    people,
    async person(role) {
      const [somebody] = await people(1, role);
      if (!somebody) throw new Error("nobody was made");
      return somebody;
    },
    key: (scopes, expiresAt) =>
      createApiKey(sql, organization.id, "Key of a test", scopes, expiresAt ?? null),
    async submission(author) {
      const [made] = await sql<{ id: string }[]>`
        insert into public.submissions (organization_id, author_id, title, description, type)
        values (${organization.id}, ${author.id}, 'A submission', 'A description that is long enough.', 'idea') returning id`;
      if (!made) throw new Error("no submission was made");
      return made.id;
    },
    async call(method, path, { base = stack.base_url, body, ...rest } = {}) {
      const payload =
        typeof body === "string" ? { raw: body, headers: { ...json, ...rest.headers } } : { body };
      const answer = await send(method, base + path, { ...rest, ...payload, agent });
      return { ...answer, body: answer.body ?? {} } as Answer;
    },
    functionsLog: () => readFile(join(dataDir, "functions.log"), "utf8"),
    async remove() {
      agent.destroy();
      await sql.end({ timeout: 1 }).catch(() => undefined);
      await stack.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
