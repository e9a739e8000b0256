import { z } from "zod";
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
const data = z
  .custom<Record<string, unknown>>(isObject, { error: "data must be an object" })
  .refine((value) => isStorable(value), {
    error: "data must be nested at most 20 levels deep, without NUL and unpaired surrogates",
  })
  .nullish();

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
}

/** An auth call that lite serves, with the guard's rules for it. */
export interface Call {
  /** Rate limit of the call. */
  limit?: Action;
  /** Parameters to pass on; other parameters do not reach lite. */
  query?: readonly string[];
  body?: z.ZodType<object>;
  hashesPassword?: (body: Body) => boolean;
  /** The response or its time would reveal whether an account exists. */
  hidesAccountExistence?: true;
}

// A code that signs in or confirms an address is of type email; lite knows it by its older name.
const type = text("type", 100).transform((named) => (named === "email" ? "magiclink" : named));
const always = () => true;
const signIn: Call = {
  limit: "sign_in",
  query: ["grant_type"],
  body: z.object({ email, password: text("password", 1000) }),
  hashesPassword: always,
};
const refresh: Call = {
  limit: "refresh",
  query: ["grant_type"],
  body: z.object({ refresh_token: text("refresh_token", 255) }),
};
/** Grants that the embedded stack does not support: lite responds with an error. */
const otherGrant: Call = { query: ["grant_type"], body: z.object({}) };
const mailACode: Call = {
  limit: "mail",
  body: z.object({
    email,
    type,
    create_user: z.boolean({ error: "create_user must be true or false" }).nullish(),
  }),
  hashesPassword: always,
  hidesAccountExistence: true,
};

const calls: Record<string, Call> = {
  "POST /signup": {
    limit: "sign_up",
    body: z.object({ email, password: text("password", 1000), data }),
    hashesPassword: always,
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
    body: z.object({ data, email, password: text("password", 72) }),
    hashesPassword: (body) => body.password !== undefined,
  },
  "GET /reauthenticate": { limit: "mail" },
  "POST /logout": { query: ["scope"], body: z.object({ scope: text("scope", 20) }) },
  "GET /settings": {},
  "GET /health": {},
  "GET /.well-known/jwks.json": {},
  "GET /.well-known/openid-configuration": {},
  "GET /authorize": {
    query: ["provider", "redirect_to", "scopes", "code_challenge", "code_challenge_method"],
  },
};

/** The call of a request by exact path: lite would decode and normalize it. */
export function callOf(method: string, url: URL): Call | undefined {
  const path = url.pathname.replace(/^\/auth\/v1/, "");
  if (method === "POST" && path === "/token") {
    const grant = url.searchParams.get("grant_type");
    return grant === "password" ? signIn : grant === "refresh_token" ? refresh : otherGrant;
  }
  return Object.hasOwn(calls, `${method} ${path}`) ? calls[`${method} ${path}`] : undefined;
}
