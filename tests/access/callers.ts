import { randomUUID } from "node:crypto";
import { createApiKey } from "../../local/operator/api-keys.ts";
import { scopes as allScopes, type Scope } from "../../shared/scopes.ts";
import { type Answer, type Call, type Method, send } from "../api/client.ts";
import { claimsOf, identified, newSecret as newSigningSecret, signed } from "../api/identified.ts";
import {
  merge,
  newComment,
  newOrganization,
  newSubmission,
  newUser,
  type Organization,
  only,
  textOf,
  type User,
} from "../api/world.ts";
import { newAgent } from "../mcp/agents.ts";
import { sql } from "../stack.ts";
import type { Route } from "./service.ts";

/** The columns of the tables in docs/security.md, in their order. */
export const callers = [
  "anonymous",
  "user",
  "identified person",
  "other tenant's admin",
  "author",
  "member",
  "admin",
  "key without scope",
  "key with scope",
  "agent key",
  "expired key",
  "invalid token",
] as const;

/** A board with this many identified persons: they signed in while it was public. */
export async function newBoardWithIdentified(visibility: "public" | "private", count: number): Promise<Board> {
  const board = await newBoard(visibility);
  const { organization, signingSecret } = board;
  const set = (to: string) => sql`update public.organizations set visibility = ${to} where id = ${organization.id}`;
  await set("public");
  const session = () => identified(organization, signingSecret);
  board.identified = (await Promise.all(Array.from({ length: count }, session))).map(({ token }) => token);
  await set(visibility);
  return board;
}

export type Caller = (typeof callers)[number];

/** A board and its callers; rows are created for each request. */
export interface Board {
  organization: Organization;
  other: Organization;
  people: Record<"user" | "other tenant's admin" | "author" | "member" | "admin", User>;
  /** The key of an agent with every scope. */
  agentKey: string;
  /** Signs tokens of identified persons, until a route adds a second secret, which cannot be decrypted. */
  signingSecret: string;
  /** Sessions of identified persons: each request uses a new one, since some routes end their session. */
  identified: string[];
}

export async function newBoard(visibility: "public" | "private"): Promise<Board> {
  const [organization, other] = [await newOrganization({ visibility }), await newOrganization()];
  const admin = await newUser("Ada Admin", { organization, role: "admin" });
  return {
    organization,
    other,
    agentKey: (await newAgent({ organization })).token,
    signingSecret: (await newSigningSecret(organization, admin)).secret,
    identified: [],
    people: {
      user: await newUser("Una User"),
      "other tenant's admin": await newUser("Olaf Other", { organization: other, role: "owner" }),
      // Only the team can write on a private board.
      author: await newUser("Ann Author", visibility === "private" ? { organization, role: "member" } : undefined),
      member: await newUser("Mel Member", { organization, role: "member" }),
      admin,
    },
  };
}

const title = "A title of an idea";
const description = "A description that is long enough.";

// The request body of each route; routes that are not listed have none.
const bodies: Record<string, object | ((board: Board, id: string) => Promise<object>)> = {
  "POST /api/submissions": { title, description, type: "idea" },
  "POST /api/submissions/check-duplicates": { title },
  "PATCH /api/submissions/:id": { title },
  "PATCH /api/submissions/:id/status": { status: "planned" },
  "POST /api/submissions/:id/comments": { body: "A comment" },
  "PATCH /api/comments/:id": { body: "Changed" },
  "POST /api/admin/import": { title, description },
  "PUT /api/admin/people/:id/trust": { trusted: true },
  "POST /api/admin/api-keys": { name: "A key", scopes: [] },
  "POST /api/admin/categories": { name: "A category" },
  "PATCH /api/admin/categories/:id": { name: "Another name" },
  "POST /api/admin/categories/:id/merge": async (board) => ({ into_id: await newLabel("categories", board) }),
  "PUT /api/admin/categories/order": { ids: [] },
  "POST /api/admin/tags": { name: "A tag" },
  "PATCH /api/admin/tags/:id": { name: "Another name" },
  "POST /api/admin/tags/:id/merge": async (board) => ({ into_id: await newLabel("tags", board) }),
  "PATCH /api/organizations/:id": { name: "Another name" },
  "PATCH /api/organizations/:id/members/:user_id": { role: "admin" },
  "POST /api/organizations/:id/transfer": async (board) => ({ user_id: await newMember(board) }),
  "POST /api/organizations/:id/invites": async () => ({ email: `${randomUUID()}@test.example` }),
  "POST /api/identify": async ({ organization, signingSecret }) => ({
    token: await signed(claimsOf(organization), signingSecret),
  }),
  "POST /api/admin/identify-secrets/check": { token: "of nobody" },
  "POST /api/invites/accept": { token: "fcs_inv_of_nobody" },
  "POST /api/admin/agents": { name: "An agent" },
  "PATCH /api/admin/agents/:id": { name: "Another name" },
  "POST /api/admin/agents/:id/keys": { scopes: [] },
  "POST /api/surveys": { title },
  "PATCH /api/surveys/:id": { title: "Another title" },
  // A survey question created here uses the survey's id.
  "POST /api/surveys/:id/responses": async (_, id) => ({ answers: [{ question_id: id, value: 9 }] }),
  "POST /api/organizations/:id/webhooks": { url: "https://example.com/hook", events: ["comment.created"] },
  "PATCH /api/organizations/:id/webhooks/:webhook_id": { enabled: true },
  "POST /api/admin/merge": async ({ organization, people: { author } }) => ({
    source_ids: [await newSubmission(organization, author)],
    target_id: await newSubmission(organization, author),
  }),
  "POST /api/admin/unmerge": async ({ organization, people: { author } }) => {
    const submission_id = await newSubmission(organization, author);
    await merge(submission_id, await newSubmission(organization, author));
    return { submission_id };
  },
  "POST /api/admin/moderation": async ({ organization, people: { author } }) => {
    const target_id = await newSubmission(organization, author);
    return { target_type: "submission", target_id, action: "approve", updated_at: await textOf(target_id) };
  },
  "POST /api/admin/bulk": async ({ organization, people: { author } }) => ({
    ids: [await newSubmission(organization, author)],
    action: "delete",
  }),
  "PATCH /api/me/mail-preferences": { choices: { status: "daily" } },
  "PUT /api/admin/origins": { origins: ["https://app.example.org"] },
};

const queries: Record<string, string | ((board: Board) => Promise<string>)> = {
  "GET /api/submissions/search": "?q=idea",
  "GET /api/admin/people": "?email=a@example.org",
  "DELETE /api/admin/mail-suppressions": async ({ organization }) => {
    const email = `${randomUUID()}@example.org`;
    await sql`select private.suppress_address(${organization.id}, null, ${email}, 'bounced')`;
    return `?email=${email}`;
  },
  "DELETE /api/me": "?confirm=erase",
};

/** A prepared request to a route, with new rows for the ids in its path. */
export type Prepared = { method: Method; path: string; call: Call; ids: Record<string, string> };

export async function prepare(
  { method, path }: Pick<Route, "method" | "path">,
  token: string | undefined,
  board: Board,
): Promise<Prepared> {
  const byKey = token?.startsWith("fcs_") ?? false;
  const given = queries[`${method} ${path}`] ?? "";
  const query = typeof given === "string" ? given : await given(board);
  const id = path.includes(":") ? await newRow({ method, path }, board) : "";
  const ids = await idsOf(path, id, board);
  return {
    method,
    path: filled(path, ids) + query,
    ids,
    call: {
      ...(token === undefined ? {} : { as: { token } }),
      // A row determines its organization, and so does a key.
      ...(byKey || isNamedByRow(path) ? {} : { on: board.organization }),
      body: method === "GET" ? undefined : await bodyOf(`${method} ${path}`, board, id),
    },
  };
}

export const filled = (path: string, ids: Record<string, string>): string =>
  path.replaceAll(/:(\w+)/g, (_, name: string) => ids[name] ?? "");

export const isNamedByRow = (path: string) => /\/me\/|^\/api\/(?!admin).*:id/.test(path);

export const sendPrepared = ({ method, path, call }: Prepared): Promise<Answer> => send(method, path, call);

export async function call(route: Route, token: string | undefined, board: Board): Promise<Answer> {
  return sendPrepared(await prepare(route, token, board));
}

async function bodyOf(route: string, board: Board, id: string): Promise<object | undefined> {
  const body = bodies[route];
  return typeof body === "function" ? body(board, id) : body;
}

async function newLabel(kind: "categories" | "tags", { organization }: Board): Promise<string> {
  const row = { organization_id: organization.id, name: "A label", slug: `l-${randomUUID()}` };
  const [created] = await sql<{ id: string }[]>`insert into public.${sql(kind)} ${sql(row)} returning id`;
  return only(created).id;
}

async function newMember({ organization }: Board): Promise<string> {
  return (await newUser("New Member", { organization, role: "member" })).id;
}

async function newInvite({ organization, people: { admin } }: Board): Promise<string> {
  const [created] = await sql<{ id: string }[]>`
    insert into private.invites (organization_id, email, role, digest, invited_by)
    values (${organization.id}, ${`${randomUUID()}@test.example`}, 'member', sha256(${randomUUID()}::text::bytea), ${admin.id}) returning id`;
  return only(created).id;
}

export async function tokenOf(caller: Caller, { scopes }: Route, board: Board): Promise<string | undefined> {
  const key = (scopes: readonly Scope[], expiresAt?: Date) => newSecret(board, scopes, expiresAt);
  switch (caller) {
    case "anonymous":
      return undefined;
    case "invalid token":
      return "garbage";
    case "agent key":
      return board.agentKey;
    case "identified person":
      return only(board.identified.pop());
    case "key without scope":
      return key(scopes.length === 0 ? [] : allScopes.filter((scope) => !scopes.includes(scope)));
    case "key with scope":
      return key(scopes.length === 0 ? allScopes : scopes);
    case "expired key":
      return key(allScopes, new Date(Date.now() - 1000));
    default:
      return board.people[caller].token;
  }
}

export function newSecret(board: Board, scopes: readonly Scope[], expiresAt: Date | null = null): Promise<string> {
  return createApiKey(sql, board.organization.id, "Key of a test", scopes, expiresAt);
}

/**
 * Creates a row of the author for the path; a survey belongs to the organization, and is published unless a draft is
 * needed.
 */
async function newRow({ method, path }: Pick<Route, "method" | "path">, board: Board): Promise<string> {
  const {
    organization,
    people: { author },
  } = board;
  const [, resource] = /^\/api\/(.*?)\/:id/.exec(path) ?? [];
  switch (resource) {
    case "organizations":
      return organization.id;
    case "submissions":
      return newSubmission(organization, author);
    case "comments":
      return newComment(await newSubmission(organization, author), author);
    case "surveys":
      return newSurvey(organization, method === "PATCH");
    case "admin/api-keys": {
      const name = randomUUID();
      await createApiKey(sql, organization.id, name, []);
      const [key] = await sql<{ id: string }[]>`select id from private.api_keys where name = ${name}`;
      return only(key).id;
    }
    case "admin/identify-secrets": {
      const [made] = await sql<{ id: string }[]>`
        insert into private.identify_secrets (id, organization_id, encrypted_secret, last_four)
        values (gen_random_uuid(), ${organization.id}, 'none.none', 'none') returning id`;
      return only(made).id;
    }
    case "admin/categories":
      return newLabel("categories", board);
    case "admin/tags":
      return newLabel("tags", board);
    case "admin/imports": {
      const [created] = await sql<{ id: string }[]>`
        insert into private.imports (organization_id, format, source, is_dry_run, makes_missing, query, state)
        values (${organization.id}, 'feedback', 'feedback', true, true, '{}', 'receiving') returning id`;
      return only(created).id;
    }
    case "admin/people": {
      const [created] = await sql<{ id: string }[]>`
        insert into public.profiles (kind, organization_id, email)
        values ('email', ${organization.id}, ${`${randomUUID()}@example.org`}) returning id`;
      return only(created).id;
    }
    case "admin/mail-suppressions": {
      const id = (await newUser("Bo Bounced")).id;
      await sql`
        insert into private.mail_suppressions (organization_id, address_hash, reason, profile_id)
        values (${organization.id}, ${id}, 'bounced', ${id})`;
      return id;
    }
    case "admin/agents":
      return (await newAgent({ organization })).id;
    case "mcp/stream":
    case "mcp/subscribe":
      return randomUUID();
    default:
      throw new Error(`tests/access/callers.ts does not define :id of ${path}`);
  }
}

async function newSurvey(organization: Organization, isDraft: boolean): Promise<string> {
  const id = randomUUID();
  await sql`insert into public.surveys ${sql({ id, organization_id: organization.id, title })}`;
  await sql`insert into public.survey_questions ${sql({ id, survey_id: id, type: "nps", text: "Well?", position: 1 })}`;
  if (!isDraft) await sql`update public.surveys set status = 'published' where id = ${id}`;
  return id;
}

/** That row's id, and new rows for the other parameters of the path. */
async function idsOf(path: string, id: string, board: Board): Promise<Record<string, string>> {
  const ids: Record<string, string> = { id };
  if (path.includes(":webhook_id")) Object.assign(ids, await newDelivery(board.organization.id));
  if (path.includes(":user_id")) ids.user_id = await newMember(board);
  if (path.includes(":invite_id")) ids.invite_id = await newInvite(board);
  if (path.includes(":key_id")) {
    const [key] = await sql<{ id: string }[]>`select id from private.api_keys where profile_id = ${id}`;
    ids.key_id = only(key).id;
  }
  return Object.fromEntries(Object.entries(ids).filter(([name]) => path.includes(`:${name}`)));
}

/** A webhook with an unreachable URL for an event that no row here causes, and one delivery. */
async function newDelivery(organizationId: string): Promise<Record<string, string>> {
  const [webhook, event] = [randomUUID(), randomUUID()];
  await sql`
    insert into private.webhooks (id, organization_id, url, events, encrypted_secret)
    values (${webhook}, ${organizationId}, 'https://webhooks.invalid/', ${["survey.closed"]}, 'none.none')`;
  await sql`
    insert into private.webhook_deliveries (organization_id, webhook_id, event_id, event, data, status, finished_at)
    values (${organizationId}, ${webhook}, ${event}, 'survey.closed', '{}', 'delivered', now())`;
  return { webhook_id: `wh_${webhook.replaceAll("-", "")}`, event_id: `evt_${event.replaceAll("-", "")}` };
}
