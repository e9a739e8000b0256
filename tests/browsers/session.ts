import { randomUUID } from "node:crypto";
import { type CookieOptions, createServerClient } from "@supabase/ssr";
import WebSocket from "ws";
import { stack } from "../stack.ts";

interface Cookie {
  name: string;
  value: string;
  options: CookieOptions;
}

export interface WebSession {
  userId: string;
  token: string;
  cookies: Cookie[];
}

export interface SessionForm {
  /** The encoding of the session by @supabase/ssr: base64url is the default, raw JSON the older one. */
  encoding: "base64url" | "raw";
  /** Characters of metadata, which make the session too long for one cookie. */
  metadata?: number;
}

/** A user who signs up in a web app that keeps its session with @supabase/ssr, and the cookies it sets. */
export async function signUpOnTheWeb({ encoding, metadata = 0 }: SessionForm): Promise<WebSession> {
  const jar = new Map<string, Cookie>();
  const app = createServerClient(stack.supabase_url, stack.publishable_key, {
    cookieEncoding: encoding,
    realtime: { transport: WebSocket as never },
    cookies: {
      getAll: () => [...jar.values()].map(({ name, value }) => ({ name, value })),
      setAll(cookies) {
        for (const cookie of cookies) {
          if (cookie.options.maxAge === 0) jar.delete(cookie.name);
          else jar.set(cookie.name, cookie);
        }
      },
    },
  });
  const { data, error } = await app.auth.signUp({
    email: `${randomUUID()}@web.example`,
    password: randomUUID(),
    options: { data: { name: "Wanda Web 😀", note: "ü".repeat(metadata) } },
  });
  if (error || !data.session || !data.user) throw error ?? new Error("signed up without a session");
  return { userId: data.user.id, token: data.session.access_token, cookies: [...jar.values()] };
}

/** The header as frameworks and browsers send it: with percent-encoded values. */
export function cookieHeader(cookies: readonly { name: string; value: string }[]): string {
  return cookies.map(({ name, value }) => `${name}=${encodeURIComponent(value)}`).join("; ");
}
