import { createHash } from "node:crypto";
import { createAccount, isEmail, mailConfirmation, newCode } from "./accounts.ts";
import type { Body } from "./calls.ts";
import { goTrueError } from "./errors.ts";
import { type Columns, type Service, together, type User } from "./lite-types.ts";
import type { TokenSecrets } from "./token-secrets.ts";

const maxPerPage = 1000;
const invalid = (message: string) => goTrueError(400, "validation_failed", message);
const notFound = (message: string) => goTrueError(404, "user_not_found", message);
const taken = () =>
  goTrueError(422, "email_exists", "A user with this email address has already been registered");

/** Serves auth's calls of the admin. Throws a response, or an error of lite. */
export async function answerAdmin(
  service: Service,
  secrets: TokenSecrets,
  { method, url }: Request,
  body: Body,
): Promise<Response> {
  const { pathname, searchParams, origin } = new URL(url);
  const [, path, id] = /^\/auth\/v1(\/admin\/users|\/[a-z_/]+)(?:\/(.+))?$/.exec(pathname) ?? [];
  if (path === "/invite") return Response.json(await invite(service, body));
  if (path === "/admin/generate_link")
    return Response.json(await generateLink(service, secrets, `${origin}/auth/v1/verify`, body));
  if (id === undefined)
    return method === "GET" ? list(service, searchParams) : Response.json(await create(service, body));
  if (!isUuid(id)) throw goTrueError(404, "validation_failed", "user_id must be an UUID");
  const user = await service.repo.findUserById(id);
  if (!user) throw notFound("User not found");
  if (method === "DELETE")
    return Response.json(await remove(service, user, body.should_soft_delete === true));
  if (method === "PUT") await together(service, () => change(service, user, body));
  return Response.json(await shown(service, user.id));
}

const isUuid = (text: string) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

/** A user as auth shows one to its admin. */
async function shown(service: Service, id: string): Promise<Columns> {
  const user = await service.repo.findUserById(id);
  if (!user) throw notFound("User not found");
  return shownWith(service, user, await service.repo.findIdentitiesByUserId(id));
}

function shownWith(service: Service, user: User, identities: Columns[]): Columns {
  const more = ["invited_at", "recovery_sent_at", "banned_until", "deleted_at"].filter((name) => user[name]);
  return {
    ...service.mapUserToResponse(service.repo.parseUserJson(user), identities, "user"),
    ...Object.fromEntries(more.map((name) => [name, user[name]])),
  };
}

async function list(service: Service, query: URLSearchParams): Promise<Response> {
  const number = (name: string, missing: number, max: number) => {
    const value = Number(query.get(name) || missing);
    if (Number.isInteger(value) && value >= 1 && value <= max) return value;
    throw invalid(`Bad Pagination Parameters: ${name} must be from 1 to ${max}`);
  };
  const [page, perPage] = [number("page", 1, 1_000_000), number("per_page", 50, maxPerPage)];
  const { repo } = service;
  const [counted] = await repo
    .table("users")
    .select((sql: { fn: { countAll(): { as(name: string): unknown } } }) => sql.fn.countAll().as("users"))
    .execute();
  const users = await repo
    .table("users")
    .selectAll()
    .orderBy("created_at", "desc")
    .orderBy("id")
    .limit(perPage)
    .offset((page - 1) * perPage)
    .execute();
  const last = Math.ceil(Number(counted?.users) / perPage);
  const link = (to: number, rel: string) => `</admin/users?page=${to}&per_page=${perPage}>; rel="${rel}"`;
  return Response.json(
    {
      users: users.map((user) => ({ ...shownWith(service, user as User, []), identities: null })),
      aud: "authenticated",
    },
    {
      headers: {
        "x-total-count": String(counted?.users),
        link: [...(page < last ? [link(page + 1, "next")] : []), link(last, "last")].join(", "),
      },
    },
  );
}

function addressOf(email: string | undefined): string {
  if (!isEmail(email)) throw invalid("Unable to validate email address: invalid format");
  return email.toLowerCase();
}

async function create(service: Service, body: Body): Promise<Columns> {
  if (!body.email) throw invalid("Cannot create a user without either an email or phone");
  if (body.id !== undefined && !isUuid(body.id)) throw invalid("ID must conform to the uuid v4 format");
  const { email: given, user_metadata: data, id, ...more } = body;
  const email = addressOf(given);
  if (await service.repo.findUserByEmail(email)) throw taken();
  const made = await together(service, async () => {
    const user = await createAccount(service, { id, email, data });
    await change(service, user, more);
    return user;
  });
  return shown(service, made.id);
}

/** The confirmation first: a trigger may void what others set before it. */
async function change(service: Service, user: User, body: Body): Promise<void> {
  const { repo } = service;
  const { app_metadata, user_metadata: data, password, ban_duration } = body;
  if (body.email_confirm && !user.email_confirmed_at) {
    await repo.updateUser(user.id, { confirmed_at: new Date().toISOString() });
    await service.updateUser(user.id, { data: { email_verified: true } });
  }
  if (password)
    await service.updateUser(user.id, { password }).catch((error: { code?: string }) => {
      if (error.code !== "same_password") throw error;
    });
  if (body.email) await moveTo(service, user, addressOf(body.email), body.email_confirm === true);
  if (app_metadata) {
    const { raw_app_meta_data } = repo.parseUserJson(user);
    const merged = Object.entries({ ...(raw_app_meta_data as object), ...app_metadata });
    const kept = Object.fromEntries(merged.filter(([, value]) => value !== null));
    await repo.updateUser(user.id, { raw_app_meta_data: kept });
  }
  if (data) await service.updateUser(user.id, { data });
  if (ban_duration) await repo.updateUser(user.id, { banned_until: endOfBan(ban_duration) });
}

async function moveTo({ repo }: Service, user: User, email: string, isVerified: boolean): Promise<void> {
  const other = await repo.findUserByEmail(email);
  if (other && other.id !== user.id) throw taken();
  await repo.updateUser(user.id, { email });
  for (const { id, provider, identity_data } of await repo.findIdentitiesByUserId(user.id))
    if (provider === "email")
      await repo.updateIdentity(id, {
        identity_data: { ...(identity_data as object), email, email_verified: isVerified },
      });
}

const unitMs: Record<string, number> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** Of a duration as Go writes it, such as 24h or 1h30m; null for none. */
function endOfBan(duration: string): string | null {
  if (duration === "none") return null;
  const parts = [...duration.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s)/g)];
  const length = parts.reduce((sum, [, count, unit = ""]) => sum + Number(count) * (unitMs[unit] ?? 0), 0);
  const isWhole = parts.map(([part]) => part).join("") === duration;
  // Go's longest duration has 292 years.
  if (!isWhole || parts.length === 0 || length > 2_562_047 * 3_600_000)
    throw invalid(`invalid format for ban duration: time: invalid duration ${JSON.stringify(duration)}`);
  return length === 0 ? null : new Date(Date.now() + length).toISOString();
}

async function remove(service: Service, user: User, softly: boolean): Promise<object> {
  const { repo } = service;
  if (!softly)
    await repo
      .deleteFrom("users")
      .where("id", "=", user.id)
      .execute()
      .catch(() => {
        throw goTrueError(500, "unexpected_failure", "Database error deleting user");
      });
  else if (!user.deleted_at) await together(service, () => empty(service, user));
  return {};
}

/** A deleted user whose id stays. */
async function empty({ repo }: Service, { id, email }: User): Promise<void> {
  const hash = (value: unknown) => createHash("sha256").update(`${id}${value}`).digest("base64url");
  await repo.updateUser(id, {
    email: hash(email),
    encrypted_password: null,
    email_change: null,
    confirmation_token: null,
    recovery_token: null,
    email_change_token_current: null,
    email_change_token_new: null,
    reauthentication_token: null,
    raw_user_meta_data: {},
    raw_app_meta_data: {},
    deleted_at: new Date().toISOString(),
  });
  for (const identity of await repo.findIdentitiesByUserId(id))
    await repo.updateIdentity(identity.id, { identity_data: {}, provider_id: hash(identity.provider_id) });
  await repo.deleteRefreshTokensForUser(id);
  await repo.deleteUserSessions(id);
}

async function invite(service: Service, { email: given, data }: Body): Promise<Columns> {
  const email = addressOf(given);
  const known = await service.repo.findUserByEmail(email);
  if (known?.email_confirmed_at) throw taken();
  const user = known ?? (await together(service, () => createAccount(service, { email, data })));
  await mailConfirmation(service, user, "sendInvite");
  return shown(service, user.id);
}

const links: Record<string, { column: string; sentAt: string; type: string }> = {
  signup: { column: "confirmation_token", sentAt: "confirmation_sent_at", type: "signup" },
  invite: { column: "confirmation_token", sentAt: "confirmation_sent_at", type: "invite" },
  magiclink: { column: "recovery_token", sentAt: "recovery_sent_at", type: "magiclink" },
  recovery: { column: "recovery_token", sentAt: "recovery_sent_at", type: "recovery" },
  email_change_current: {
    column: "email_change_token_current",
    sentAt: "email_change_sent_at",
    type: "email_change",
  },
  email_change_new: {
    column: "email_change_token_new",
    sentAt: "email_change_sent_at",
    type: "email_change",
  },
};

/** The code and the link of a mail, without the mail. */
async function generateLink(
  service: Service,
  secrets: TokenSecrets,
  verify: string,
  body: Body,
): Promise<Columns> {
  const { repo } = service;
  const email = addressOf(body.email);
  const known = await repo.findUserByEmail(email);
  const kind = body.type === "magiclink" && !known ? "signup" : (body.type ?? "");
  const link = Object.hasOwn(links, kind) ? links[kind] : undefined;
  if (!link) throw invalid(`Invalid email action link type requested: ${kind}`);
  const confirms = kind === "signup" || kind === "invite";
  if (!known && !confirms) throw notFound("User with this email not found");
  if (known?.email_confirmed_at && confirms) throw taken();
  if (!known && body.type === "signup" && !body.password) throw invalid("Signup requires a valid password");
  const next = link.type === "email_change" ? addressOf(body.new_email) : undefined;
  const other = next && (await repo.findUserByEmail(next));
  if (other && other.id !== known?.id) throw taken();
  const { code, hash } = newCode((kind === "email_change_new" && next) || email);
  const user = await together(service, async () => {
    const made = known ?? (await createAccount(service, { email, data: body.data }));
    if (!known && body.type === "signup") await service.updateUser(made.id, { password: body.password });
    if (known && kind === "signup" && body.data) await service.updateUser(made.id, { data: body.data });
    const now = new Date().toISOString();
    await service.repo.updateUser(made.id, {
      [link.column]: hash,
      [link.sentAt]: now,
      ...(kind === "invite" && { invited_at: now }),
      ...(next && { email_change: next, email_change_confirm_status: 0 }),
    });
    return made;
  });
  const redirect_to = service.resolveEmailRedirect(body.redirect_to);
  const token = secrets.linkToken(hash);
  return {
    ...(await shown(service, user.id)),
    action_link: `${verify}?${new URLSearchParams({ token, type: link.type, redirect_to })}`,
    email_otp: code,
    hashed_token: token,
    verification_type: kind,
    redirect_to,
  };
}
