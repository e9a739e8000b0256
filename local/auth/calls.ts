import { z } from "zod";
import { isEmailAddress } from "../../shared/fields.ts";
import { goTrueError } from "./errors.ts";
import type { Action } from "./limits.ts";

/** An optional field, which may also be null. */
const text = (name: string, maxLength: number) =>
  z
    .string({ error: `${name} must be text` })
    .max(maxLength, { error: `${name} must be at most ${maxLength} characters long` })
    .refine((value) => !value.includes("\0") && isWellFormed(value), {
      error: `${name} must be text without NUL and broken surrogates`,
    })
    .nullish();
const email = text("email", 255);
/** Of a mail or an account: an address that mail programs read in one way. */
const mailAddress = email.refine((address) => !address || isEmailAddress(address), {
  error: "Unable to validate email address: invalid format",
});
const flag = (name: string) => z.boolean({ error: `${name} must be true or false` }).nullish();
/** bcrypt would cut it. */
const newPassword = text("password", 1000).refine((word) => Buffer.byteLength(word ?? "") <= 72, {
  error: "Password cannot be longer than 72 characters",
});
const metadata = (name: string) =>
  z
    .custom<Record<string, unknown>>(isObject, { error: `${name} must be an object` })
    .refine((value) => isStorable(value), {
      error: `${name} must be nested at most 20 levels deep, without NUL and unpaired surrogates`,
    })
    .nullish();
const data = metadata("data");

const isWellFormed = (value: string) => !/\p{Surrogate}/u.test(value);

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isStorable(value: unknown, levels = 20): boolean {
  if (typeof value === "string") return !value.includes("\0") && isWellFormed(value);
  if (typeof value !== "object" || value === null) return true;
  return (
    levels > 0 &&
    Object.entries(value)
      .flat()
      .every((part) => isStorable(part, levels - 1))
  );
}

export interface Body {
  email?: string;
  password?: string;
  data?: Record<string, unknown>;
  token?: string;
  token_hash?: string;
  type?: string;
  refresh_token?: string;
  phone?: string;
  id?: string;
  new_email?: string;
  redirect_to?: string;
  app_metadata?: Record<string, unknown>;
  user_metadata?: Record<string, unknown>;
  email_confirm?: boolean;
  should_soft_delete?: boolean;
  ban_duration?: string;
}

/** An auth call that lite serves, with the guard's rules for it. */
export interface Call {
  /** Rate limit of the call. */
  limit?: Action;
  /** Parameters to pass on; other parameters do not reach lite. */
  query?: readonly string[];
  body?: z.ZodType<object>;
  hashesPassword?: (body: Body) => boolean;
  /** What the embedded auth does not offer. */
  refuse?: (body: Body) => Response | undefined;
  /** The response or its time would reveal whether an account exists. */
  hidesAccountExistence?: true;
}

/** Types of codes that lite knows by another name. */
const otherTypes = new Map([
  ["email", "magiclink"],
  ["invite", "signup"],
]);
export const typeOf = (named: string) => otherTypes.get(named) ?? named;
const type = text("type", 100).transform((named) => named && typeOf(named));
const always = () => true;
const noPhone = (status: number, message: string) => (body: Body) =>
  body.phone && !body.email ? goTrueError(status, "phone_provider_disabled", message) : undefined;
const phone = text("phone", 100);
const signIn: Call = {
  limit: "sign_in",
  query: ["grant_type"],
  body: z.object({ email, phone, password: text("password", 1000) }),
  hashesPassword: always,
  refuse: noPhone(422, "Phone logins are disabled"),
};
const refresh: Call = {
  limit: "refresh",
  query: ["grant_type"],
  body: z.object({ refresh_token: text("refresh_token", 255) }),
};
/** Grants that the embedded stack does not support: lite responds with an error. */
const otherGrant: Call = {
  query: ["grant_type"],
  body: z.object({ auth_code: text("auth_code", 255), code_verifier: text("code_verifier", 255) }),
};
const mailACode: Call = {
  limit: "mail",
  body: z.object({ email: mailAddress, phone, type, data, create_user: flag("create_user") }),
  hidesAccountExistence: true,
  refuse: noPhone(400, "Unsupported phone provider"),
};

/** A user, as the admin writes one. */
const user = {
  email: mailAddress,
  password: newPassword,
  email_confirm: flag("email_confirm"),
  user_metadata: metadata("user_metadata"),
  app_metadata: metadata("app_metadata"),
  ban_duration: text("ban_duration", 100),
  phone: z.literal("", { error: "the embedded auth has no phone numbers" }).nullish(),
  role: z.literal("authenticated", { error: "role must be authenticated" }).nullish(),
  password_hash: z.never({ error: "the embedded auth takes no password_hash: give a password" }).optional(),
};
const hashesNewPassword = (body: Body) => body.password !== undefined;

const calls: Record<string, Call> = {
  "POST /signup": {
    limit: "sign_up",
    body: z.object({ email: mailAddress, phone, password: newPassword, data }),
    hashesPassword: always,
    refuse: noPhone(400, "Phone signups are disabled"),
  },
  "POST /otp": mailACode,
  "POST /magiclink": mailACode,
  "POST /recover": mailACode,
  "POST /resend": mailACode,
  "POST /verify": {
    limit: "verify",
    body: z.object({ email, token: text("token", 255), token_hash: text("token_hash", 255), type }),
    hidesAccountExistence: true,
  },
  "GET /verify": { limit: "verify", query: ["type", "token", "redirect_to", "apikey"] },
  "GET /user": {},
  "PUT /user": {
    limit: "change",
    body: z.object({ data, email: mailAddress, password: newPassword, app_metadata: metadata("app_metadata") }),
    hashesPassword: hashesNewPassword,
  },
  "GET /reauthenticate": { limit: "mail" },
  "POST /logout": { query: ["scope"], body: z.object({ scope: text("scope", 20) }) },
  "GET /admin/users": { query: ["page", "per_page"] },
  "POST /admin/users": { body: z.object({ ...user, id: text("id", 100) }), hashesPassword: hashesNewPassword },
  "GET /admin/users/:id": {},
  "PUT /admin/users/:id": { body: z.object(user), hashesPassword: hashesNewPassword },
  "DELETE /admin/users/:id": { body: z.object({ should_soft_delete: flag("should_soft_delete") }) },
  "POST /admin/generate_link": {
    body: z.object({
      email: mailAddress,
      new_email: mailAddress,
      password: newPassword,
      data,
      type: text("type", 100),
      redirect_to: text("redirect_to", 2000),
    }),
    hashesPassword: hashesNewPassword,
  },
  "POST /invite": { body: z.object({ email: mailAddress, data }) },
  "GET /settings": {},
  "GET /health": {},
  "GET /.well-known/jwks.json": {},
  "GET /.well-known/openid-configuration": {},
  "GET /authorize": { query: ["provider", "redirect_to", "scopes", "code_challenge", "code_challenge_method"] },
};

/** The call of a request by exact path: lite would decode and normalize it. */
export function callOf(method: string, url: URL): Call | undefined {
  const path = url.pathname.replace(/^\/auth\/v1/, "").replace(/^(\/admin\/users\/).+/, "$1:id");
  if (method === "POST" && path === "/token") {
    const grant = url.searchParams.get("grant_type");
    return grant === "password" ? signIn : grant === "refresh_token" ? refresh : otherGrant;
  }
  return Object.hasOwn(calls, `${method} ${path}`) ? calls[`${method} ${path}`] : undefined;
}
