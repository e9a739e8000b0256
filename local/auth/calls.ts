import { z } from "zod";
import type { Action } from "./limits.ts";

/** A field of a call: what is left out may also be null. */
const text = (name: string, longest: number) =>
  z
    .string({ error: `${name} must be text` })
    .max(longest, { error: `${name} must be at most ${longest} characters long` })
    .refine((value) => !value.includes("\0") && isWellFormed(value), {
      error: `${name} must be text without NUL and broken surrogates`,
    })
    .nullish();
const email = text("email", 255);
const data = z
  .custom<Record<string, unknown>>(isObject, { error: "data must be an object" })
  .refine((value) => isStorable(value), {
    error: "data must be nested at most 20 levels deep, of texts without NUL and broken surrogates",
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

/** One call that lite serves, and what the guard does about it. */
export interface Call {
  /** The rules its tries are charged by. */
  limit?: Action;
  /** What is passed on; everything else a client writes does not reach lite. */
  query?: readonly string[];
  body?: z.ZodType<object>;
  hashesPassword?: (body: Body) => boolean;
  /** The answer, or the time it takes, would tell whether an account exists. */
  quiet?: true;
}

const type = text("type", 100);
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
/** Grants that the embedded stack does not offer: lite says so. */
const otherGrant: Call = { query: ["grant_type"], body: z.object({}) };
const mailACode: Call = {
  limit: "mail",
  body: z.object({
    email,
    type,
    create_user: z.boolean({ error: "create_user must be true or false" }).nullish(),
  }),
  hashesPassword: always,
  quiet: true,
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
    quiet: true,
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

/** The call a request makes, by its exact path: lite would decode and complete what it is given. */
export function callOf(method: string, url: URL): Call | undefined {
  const path = url.pathname.replace(/^\/auth\/v1/, "");
  if (method === "POST" && path === "/token") {
    const grant = url.searchParams.get("grant_type");
    return grant === "password" ? signIn : grant === "refresh_token" ? refresh : otherGrant;
  }
  return Object.hasOwn(calls, `${method} ${path}`) ? calls[`${method} ${path}`] : undefined;
}
