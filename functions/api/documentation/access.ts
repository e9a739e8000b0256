import { rateLimits } from "../../../shared/rate-limits.ts";
import type { EndpointDescription } from "../../_shared/http/endpoint.ts";
import type { Operation } from "./model.ts";

/** Alternatives; a key needs one of the scopes. */
export function securityOf({ access, scopes = [] }: EndpointDescription): Operation["security"] {
  if (access === "person") return [{ session: [] }];
  if (access === "caller") return [{ session: [] }, ...scopes.map((scope) => ({ apiKey: [scope] }))];
  return [{}, { session: [] }, { apiKey: [] }];
}

/** Accepted callers and the rate limit. */
export function descriptionOf(endpoint: EndpointDescription): string {
  const { access, scopes = [], lowercaseErrorsToKeys } = endpoint;
  const holding = scopes.map((scope) => `\`${scope}\``).join(" or ");
  const callers = {
    public: "Public.",
    person: "For signed-in users, not for keys.",
    caller: `For signed-in users, and for keys with the scope ${holding}.`,
  };
  return [
    callers[access],
    rateSentence(endpoint.operation),
    lowercaseErrorsToKeys && 'Errors of a key have the form `{error: "lowercase_code"}`.',
  ]
    .filter(Boolean)
    .join(" ");
}

const countedCallers: Record<string, string> = {
  "": "",
  _public: " for anonymous callers",
  _user: " for a user",
  _key: " for a key",
};

function rateSentence(operation = ""): string {
  const limits = Object.entries(rateLimits).flatMap(([rule, { max_requests, window_seconds }]) => {
    const callers = operation && rule.startsWith(operation) ? countedCallers[rule.slice(operation.length)] : undefined;
    return callers === undefined ? [] : [`${max_requests} ${lengthOf(window_seconds)}${callers}`];
  });
  return limits.length > 0 ? `Separate rate limit: by default ${limits.join(", ")}.` : "";
}

function lengthOf(seconds: number): string {
  return { 60: "per minute", 3600: "per hour", 86400: "per day" }[seconds] ?? `in ${seconds} seconds`;
}
