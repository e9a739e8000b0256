import { rateLimits } from "../../../shared/rate-limits.ts";
import type { DocumentedEndpoint, Operation } from "./model.ts";

/** Alternatives, any of which will do; a key needs one of the scopes. */
export function securityOf({ access, scopes = [] }: DocumentedEndpoint): Operation["security"] {
  if (access === "person") return [{ session: [] }];
  if (access === "caller") return [{ session: [] }, ...scopes.map((scope) => ({ apiKey: [scope] }))];
  return [{}, { session: [] }, { apiKey: [] }];
}

/** Who may call, and how often. */
export function descriptionOf(endpoint: DocumentedEndpoint): string {
  const { access, scopes = [], lowercaseErrorsToKeys } = endpoint;
  const holding = scopes.map((scope) => `\`${scope}\``).join(" or ");
  const who = {
    public: "Open to everyone.",
    person: "For signed-in people, not for keys.",
    caller: `For signed-in people, and for keys with the scope ${holding}.`,
  };
  return [
    who[access],
    rateSentence(endpoint.operation),
    lowercaseErrorsToKeys && 'Refusals of a key take the form `{error: "lowercase_code"}`.',
  ]
    .filter(Boolean)
    .join(" ");
}

const whomARuleCounts: Record<string, string> = {
  "": "",
  _public: " without signing in",
  _user: " for a person",
  _key: " for a key",
};

function rateSentence(operation = ""): string {
  const limits = Object.entries(rateLimits).flatMap(([rule, { max_requests, window_seconds }]) => {
    const whom =
      operation && rule.startsWith(operation) ? whomARuleCounts[rule.slice(operation.length)] : undefined;
    return whom === undefined ? [] : [`${max_requests} ${lengthOf(window_seconds)}${whom}`];
  });
  return limits.length > 0 ? `Has a rate limit of its own: by default ${limits.join(", ")}.` : "";
}

function lengthOf(seconds: number): string {
  return { 60: "a minute", 3600: "an hour", 86400: "a day" }[seconds] ?? `in ${seconds} seconds`;
}
