import type { IncomingMessage } from "node:http";
import { type Identity, identityOfKey, type Keys } from "../auth/identity.ts";
import type { Version } from "./protocol.ts";

export type Handshake =
  | { accepted: true; identity: Identity; version: Version }
  | { accepted: false; status: 400 | 401 | 404; error: string };

/** Parses `GET /realtime/v1/websocket?apikey=…&vsn=…`. */
export function readHandshake(request: IncomingMessage, keys: Keys): Handshake {
  // No URL: `//a:99999` in a request line makes none.
  const [path, ...query] = (request.url ?? "").split("?");
  const parameters = new URLSearchParams(query.join("?"));
  if (path !== "/realtime/v1/websocket") return { accepted: false, status: 404, error: "The route does not exist" };
  const apiKey = apiKeyOf(request, parameters);
  if (apiKey === null) return { accepted: false, status: 401, error: "Missing API key" };
  const identity = identityOfKey(keys, apiKey);
  if (identity === null) return { accepted: false, status: 401, error: "Invalid API key" };
  const version = parameters.get("vsn") ?? "1.0.0";
  if (version !== "1.0.0" && version !== "2.0.0")
    return { accepted: false, status: 400, error: "Unsupported serializer version" };
  return { accepted: true, identity, version };
}

function apiKeyOf(request: IncomingMessage, parameters: URLSearchParams): string | null {
  const header = request.headers.apikey ?? request.headers["x-api-key"];
  return parameters.get("apikey") ?? (typeof header === "string" ? header : null);
}
