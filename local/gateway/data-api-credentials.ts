import type { IncomingMessage } from "node:http";
import { identityOfKey, identityOfToken, type Keys, serviceToken, TokenError } from "../identity.ts";
import type { GatewayError } from "./errors.ts";
import { valuesOf } from "./headers.ts";
import type { Target } from "./target.ts";

/** A request to PostgREST, which knows no API keys. */
export interface Credentials {
  /** User id. */
  person: string | null;
  /** Header for PostgREST; none for anonymous requests. */
  authorization: string | undefined;
  /** The query without the key. */
  search: string;
}

/** Verifies API key and token of a request to the data API. Fails with 401, never as anonymous. */
export async function credentialsOf(
  keys: Keys,
  { rawHeaders }: IncomingMessage,
  { search }: Target,
): Promise<Credentials | GatewayError> {
  const named = [...valuesOf(rawHeaders, "apikey"), ...new URLSearchParams(search).getAll("apikey")];
  const [key = ""] = named;
  if (key === "") return unauthorized("No API key found in request: send the publishable key as apikey.");
  const of = named.every((name) => name === key) ? identityOfKey(keys, key) : null;
  if (of === null) return unauthorized("Invalid API key.");
  const parameters = search.split(/[?&]/).filter((text) => text !== "" && !text.startsWith("apikey="));
  const rest = parameters.length > 0 ? `?${parameters.join("&")}` : "";
  const authorization = valuesOf(rawHeaders, "authorization");
  const token = authorization.length === 1 ? /^Bearer +(\S+)$/i.exec(authorization[0] ?? "")?.[1] : undefined;
  if (authorization.length === 0 || token === key)
    return {
      person: null,
      authorization: of.role === "service_role" ? `Bearer ${await serviceToken(keys)}` : undefined,
      search: rest,
    };
  try {
    const { person } = await identityOfToken(keys, token ?? "");
    return { person, authorization: `Bearer ${token}`, search: rest };
  } catch (error) {
    if (!(error instanceof TokenError)) throw error;
    const { reason, message } = error;
    // PostgREST's codes, and the message that clients look for.
    return {
      ...unauthorized(reason === "expired" ? "JWT expired" : message),
      postgrestCode: reason === "token" ? "PGRST301" : "PGRST303",
    };
  }
}

const unauthorized = (message: string): GatewayError => ({ status: 401, code: "UNAUTHORIZED", message });
