import type { IncomingMessage } from "node:http";
import { identityOfKey, identityOfToken, type Keys, serviceToken, TokenError } from "../auth/identity.ts";
import type { GatewayError } from "./errors.ts";
import { valuesOf } from "./headers.ts";

/** Of a request to PostgREST or Supabase Auth, which know no API keys. */
export interface Credentials {
  /** User id. */
  person: string | null;
  /** Header for them; none for anonymous requests. */
  authorization: string | undefined;
}

// Paths of auth that browsers and providers open, or that are read before there is a key.
const openPath = /^\/auth\/v1\/(?:verify|callback|authorize|health|sso\/saml\/(?:acs|metadata)|\.well-known\/[\w.-]+)$/;

/**
 * Verifies API key and token as the gateway of hosted Supabase does: a wrong credential is a 401, never anonymous. Removes
 * the key from the query. Auth verifies tokens itself: its errors say what is wrong with one.
 */
export async function credentialsOf(
  keys: Keys,
  { rawHeaders, headers }: IncomingMessage,
  path: string,
  query: URLSearchParams,
): Promise<Credentials | GatewayError> {
  const named = [...valuesOf(rawHeaders, "apikey"), ...query.getAll("apikey")];
  query.delete("apikey");
  const [key = ""] = named;
  const isOpen = openPath.test(path);
  if (key === "" && !isOpen) return noKey;
  const role = named.every((name) => name === key) && identityOfKey(keys, key)?.role;
  if (!role && !isOpen) return wrongKey;
  const isSecret = role === "service_role";
  if (isSecret && /^Mozilla\//i.test(headers["user-agent"] ?? "")) return secretInBrowser;
  if (!isSecret && path === "/rest/v1/") return secretRequired;
  const given = valuesOf(rawHeaders, "authorization");
  const token = given.length === 1 ? /^Bearer +(\S+)$/i.exec(given[0] ?? "")?.[1] : undefined;
  const ofAuth = path.startsWith("/auth/v1/");
  const isNone = ofAuth ? token?.split(".").length !== 3 : given.length === 0 || token === key;
  if (isNone) return { person: null, authorization: isSecret ? `Bearer ${await serviceToken(keys)}` : undefined };
  try {
    const { person } = await identityOfToken(keys, token ?? "");
    return { person, authorization: `Bearer ${token}` };
  } catch (error) {
    if (!(error instanceof TokenError)) throw error;
    return ofAuth ? { person: null, authorization: `Bearer ${token}` } : wrongToken(error);
  }
}

const unauthorized = (message: string, hint?: string): GatewayError => ({
  status: 401,
  code: "UNAUTHORIZED",
  message,
  ...(hint && { hint }),
});
const noKey = unauthorized(
  "No API key found in request",
  "Send the publishable key in the header apikey, as supabase-js does.",
);
const wrongKey = unauthorized("Invalid API key", "Copy the key from stack.json.");
const secretInBrowser = unauthorized(
  "Forbidden use of secret API key in browser",
  "Everybody can read what a browser sends: use the publishable key.",
);
const secretRequired = unauthorized(
  "Secret API key required",
  "Only the secret key can read the schema of the data API.",
);

/** With PostgREST's codes, and its message for an expired token, which clients look for. */
const wrongToken = ({ reason, message }: TokenError): GatewayError => ({
  ...unauthorized(reason === "expired" ? "JWT expired" : message),
  postgrestCode: reason === "token" ? "PGRST301" : "PGRST303",
});
