import { createHash } from "node:crypto";
import { isEmailAddress, isUuid } from "../../shared/fields.ts";
import { createAccount, mailConfirmation, newCode } from "./accounts.ts";
import type { Body } from "./calls.ts";
import { goTrueError } from "./errors.ts";
import { type Identity, type Service, together, type User } from "./lite-types.ts";
import type { TokenSecrets } from "./token-secrets.ts";

const invalid = (message: string) => goTrueError(400, "validation_failed", message);
const notFound = (message: string) => goTrueError(404, "user_not_found", message);
const taken = () => goTrueError(422, "email_exists", "A user with this email address has already been registered");

/** Serves auth's calls of the admin. Throws a response, or an error of lite. */
export async function answerAdmin(
  service: Service,
  secrets: TokenSecrets,
  { method, url }: Request,
  body: Body,
): Promise<Response> {
  const { pathname, searchParams, origin } = new URL(url);
  const [, path, id] = /^\/auth\/v1(\/admin\/users|\/[a-z_/]+)(?:\/(.+))?$/.exec(pathname) ?? [];
  if (path === "/admin/users" && !id && method === "GET") return list(service, searchParams);
  if (path === "/admin/generate_link")
    return Response.json(await generateLink(service, secrets, `${origin}/auth/v1/verify`, body));
  if (!id)
    return Response.json(
      await shown(service, path === "/invite" ? await invite(service, body) : await create(service, body)),
    );
  if (!isUuid(id)) throw goTrueError(404, "validation_failed", "user_id must be an UUID");
  const user = await service.repo.findUserById(id);
  if (!user) throw notFound("User not found");
  if (method === "DELETE") {
    await (body.should_soft_delete ? together(service, () => empty(service, user)) : remove(service, user));
    return Response.json({});
  }
  if (method === "PUT") await together(service, () => change(service, user, body));
  return Response.json(await shown(service, user));
}

/** A user as auth shows one to its admin. */
async function shown(service: Service, { id }: User) {
  const user = await service.repo.findUserById(id);
  return shownWith(service, user ?? {}, await service.repo.findIdentitiesByUserId(id));
}

function shownWith(service: Service, user: Partial<User>, identities: Identity[]) {
  const { invited_at, recovery_sent_at, banned_until, deleted_at } = user;
  const more = Object.entries({ invited_at, recovery_sent_at, banned_until, deleted_at });
  return {
    ...service.mapUserToResponse(service.repo.parseUserJson(user as User), identities, "user"),
    ...Object.fromEntries(more.filter(([, value]) => value)),
  };
}

async function list(service: Service, query: URLSearchParams): Promise<Response> {
  const number = (name: string, missing: number, max: number) => {
    const value = Number(query.get(name) || missing);
    if (Number.isInteger(value) && value >= 1 && value <= max) return value;
    throw invalid(`Bad Pagination Parameters: ${name} must be from 1 to ${max}`);
  };
  const [page, perPage] = [number("page", 1, 1_000_000), number("per_page", 50, 1000)];
  const users = service.repo.table("users");
  const counted = await users
    .select((sql: { fn: { countAll(): { as(name: string): unknown } } }) => sql.fn.countAll().as("users"))
    .executeTakeFirst();
  const ordered = users.selectAll().orderBy("created_at", "desc").orderBy("id");
  const rows = await ordered
    .limit(perPage)
    .offset((page - 1) * perPage)
    .execute();
  const last = Math.ceil(Number(counted?.users) / perPage);
  const link = (to: number, rel: string) => `</admin/users?page=${to}&per_page=${perPage}>; rel="${rel}"`;
  return Response.json(
    { users: rows.map((row) => ({ ...shownWith(service, row, []), identities: null })), aud: "authenticated" },
    {
      headers: {
        "x-total-count": String(counted?.users),
        link: [...(page < last ? [link(page + 1, "next")] : []), link(last, "last")].join(", "),
      },
    },
  );
}

function addressOf(email: string | undefined): string {
  if (!email || !isEmailAddress(email)) throw invalid("Unable to validate email address: invalid format");
  return email.toLowerCase();
}

async function create(service: Service, { user_metadata: data, id, ...body }: Body): Promise<User> {
  if (!body.email) throw invalid("Cannot create a user without either an email or phone");
  if (id && !isUuid(id)) throw invalid("ID must conform to the uuid v4 format");
  const { email: given, password, ...more } = body;
  const email = addressOf(given);
  if (await service.repo.findUserByEmail(email)) throw taken();
  return together(service, async () => {
    const user = await createAccount(service, { id, email, data });
    // Before the confirmation, after which its owner gets a mail about a new password.
    if (password) await service.updateUser(user.id, { password });
    await change(service, user, more);
    return user;
  });
}

/** The confirmation comes first: it may void what others set before it. */
async function change(service: Service, user: User, body: Body): Promise<void> {
  const { repo } = service;
  const { app_metadata, user_metadata: data, password, ban_duration, email_confirm = false } = body;
  if (email_confirm && !user.email_confirmed_at) {
    await repo.updateUser(user.id, { confirmed_at: new Date().toISOString() });
    await service.updateUser(user.id, { data: { email_verified: true } });
  }
  if (password)
    await service.updateUser(user.id, { password }).catch((error: { code?: string }) => {
      if (error.code !== "same_password") throw error;
    });
  if (body.email) await moveTo(service, user, addressOf(body.email), email_confirm);
  if (app_metadata) {
    const { raw_app_meta_data } = repo.parseUserJson(user);
    const merged = Object.entries({ ...(raw_app_meta_data as object), ...app_metadata });
    const kept = Object.fromEntries(merged.filter(([, value]) => value !== null));
    await repo.updateUser(user.id, { raw_app_meta_data: kept });
  }
  if (data) await service.updateUser(user.id, { data });
  if (ban_duration) await repo.updateUser(user.id, { banned_until: endOfBan(ban_duration) });
}

async function moveTo({ repo }: Service, { id }: User, email: string, email_verified: boolean): Promise<void> {
  const other = await repo.findUserByEmail(email);
  if (other && other.id !== id) throw taken();
  await repo.updateUser(id, { email });
  const identity = (await repo.findIdentitiesByUserId(id)).find(({ provider }) => provider === "email");
  const data = { ...(identity?.identity_data as object), email, email_verified };
  if (identity) await repo.updateIdentity(identity.id, { identity_data: data });
}

const unitMs: Record<string, number> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** Of a duration as Go writes it, such as 24h or 1h30m; null for none. */
function endOfBan(duration: string): string | null {
  const parts = [...duration.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s)/g)];
  const length = parts.reduce((sum, [, count, unit = ""]) => sum + Number(count) * (unitMs[unit] ?? 0), 0);
  // Go's longest duration is 292 years.
  const isValid = parts.map(([part]) => part).join("") === duration && length < 9e12;
  if (duration !== "none" && !isValid) throw invalid("invalid format for ban duration: write it as 24h or 1h30m");
  return length === 0 ? null : new Date(Date.now() + length).toISOString();
}

async function remove({ repo }: Service, { id }: User): Promise<void> {
  const deleted = repo.deleteFrom("users").where("id", "=", id).execute();
  await deleted.catch(() => {
    throw goTrueError(500, "unexpected_failure", "Database error deleting user");
  });
}

/** Softly deleted: the id stays. */
async function empty({ repo }: Service, { id, email, deleted_at }: User): Promise<void> {
  if (deleted_at) return;
  const hash = (value: unknown) => createHash("sha256").update(`${id}${value}`).digest("base64url");
  await repo.updateUser(id, {
    email: hash(email),
    email_change: null,
    encrypted_password: null,
    raw_user_meta_data: {},
    raw_app_meta_data: {},
    deleted_at: new Date().toISOString(),
  });
  for (const identity of await repo.findIdentitiesByUserId(id))
    await repo.updateIdentity(identity.id, { identity_data: {}, provider_id: hash(identity.provider_id) });
  await repo.deleteRefreshTokensForUser(id);
  await repo.deleteUserSessions(id);
}

async function invite(service: Service, { email: given, data }: Body): Promise<User> {
  const email = addressOf(given);
  const known = await service.repo.findUserByEmail(email);
  if (known?.email_confirmed_at) throw taken();
  const user = known ?? (await together(service, () => createAccount(service, { email, data })));
  await mailConfirmation(service, user, "sendInvite");
  return user;
}

/** Names of columns, and the type of the link where it has another name. */
const links: Record<string, [token: keyof User, sentAt: keyof User, type?: string]> = {
  signup: ["confirmation_token", "confirmation_sent_at"],
  invite: ["confirmation_token", "confirmation_sent_at"],
  magiclink: ["recovery_token", "recovery_sent_at"],
  recovery: ["recovery_token", "recovery_sent_at"],
  email_change_current: ["email_change_token_current", "email_change_sent_at", "email_change"],
  email_change_new: ["email_change_token_new", "email_change_sent_at", "email_change"],
};

/** The code and the link of a mail, without the mail. */
async function generateLink(service: Service, secrets: TokenSecrets, verify: string, body: Body) {
  const email = addressOf(body.email);
  const { data, password } = body;
  const known = await service.repo.findUserByEmail(email);
  const kind = body.type === "magiclink" && !known ? "signup" : (body.type ?? "");
  if (!Object.hasOwn(links, kind)) throw invalid(`Invalid email action link type requested: ${kind}`);
  const [column, sentAt, type = kind] = links[kind] ?? ["recovery_token", "recovery_sent_at"];
  const confirms = column === "confirmation_token";
  if (!known && !confirms) throw notFound("User with this email not found");
  if (known?.email_confirmed_at && confirms) throw taken();
  if (!known && body.type === "signup" && !password) throw invalid("Signup requires a valid password");
  const next = type === "email_change" ? addressOf(body.new_email) : undefined;
  if (next && (await service.repo.findUserByEmail(next))) throw taken();
  const { code, hash } = newCode((kind === "email_change_new" && next) || email);
  const user = await together(service, async () => {
    const made = known ?? (await createAccount(service, { email, data }));
    if (!known && body.type === "signup") await service.updateUser(made.id, { password });
    if (known && kind === "signup" && data) await service.updateUser(made.id, { data });
    const now = new Date().toISOString();
    return service.repo.updateUser(made.id, {
      [column]: hash,
      [sentAt]: now,
      ...(kind === "invite" && { invited_at: now }),
      ...(next && { email_change: next, email_change_confirm_status: 0 }),
    });
  });
  const redirect_to = service.resolveEmailRedirect(body.redirect_to);
  const token = secrets.linkToken(hash);
  return {
    ...(await shown(service, user)),
    action_link: `${verify}?${new URLSearchParams({ token, type, redirect_to })}`,
    email_otp: code,
    hashed_token: token,
    verification_type: kind,
    redirect_to,
  };
}
