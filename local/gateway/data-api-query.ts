import { maxNameBytes } from "./data-api-body.ts";
import type { GatewayError } from "./errors.ts";

// PostgREST compares unknown names with all known ones, in quadratic time: names are as long as Postgres's.
const path = /^\/rest\/v1\/(?:(?:rpc\/)?[A-Za-z_]\w{0,62})?$/;
const maxNameLength = 200;

/** A table, a function, or the OpenAPI document; in their exact spelling, without encoding, dots or double slashes. */
export const isDataApiPath = (text: string) => path.test(text);

const maxQueryLength = 8 * 1024;
const maxParameters = 100;
const maxItems = 200;
const maxConditionNesting = 8;
const maxEmbeds = 12;
const maxEmbedNesting = 4;

/**
 * The parameters of a query. PostgREST receives them as parsed here, because on its own it would also split at
 * semicolons. Parameters without `=` are dropped.
 */
export function parametersOf(search: string): URLSearchParams | GatewayError {
  if (search.length > maxQueryLength)
    return invalid(
      `The query is longer than ${maxQueryLength} characters: ask for fewer rows at once, or call a function by POST.`,
    );
  try {
    decodeURIComponent(search);
  } catch {
    return invalid("The query is not valid UTF-8 in percent-encoding.");
  }
  if (search.includes("%00")) return invalid("The query contains NUL.");
  const parts = search.slice(1).split("&");
  return new URLSearchParams(parts.filter((part) => part.includes("=")).join("&"));
}

/** The error of a query that would change every row, or is too expensive to parse or run. */
export function rejectQuery(
  method: string,
  path: string,
  query: URLSearchParams,
  prefer: string,
): GatewayError | undefined {
  // Both use the planner's estimate, which includes rows the caller may not see.
  if (/count\s*=(?!\s*"?(?:exact|none)\b)/i.test(prefer))
    return invalid("Prefer: count must be exact; planned and estimated are not supported.");
  const parameters = [...query];
  if (parameters.length > maxParameters) return invalid(`The query has more than ${maxParameters} parameters.`);
  const names = parameters.map(([name]) => name);
  if (names.some((name) => name.length > maxNameLength))
    return invalid(`The name of a parameter is longer than ${maxNameLength} characters.`);
  const asArguments = [...names, ...query.getAll("columns")];
  if (path.startsWith("/rest/v1/rpc/") && asArguments.join("").length > maxNameBytes)
    return invalid(`The names of the arguments are longer than ${maxNameBytes} bytes in all.`);
  if (/^(?:PATCH|DELETE)$/.test(method)) {
    if (!names.some(isFilter)) return withoutFilter(method);
    // PostgREST 13 and later change all rows that match.
    if (names.some((name) => /^(?:limit|offset)$/.test(name)))
      return invalid(`${method} takes no limit and no offset: name the rows by filters.`);
  }
  for (const [name, value] of parameters) {
    const isList = /(?:^|\.)(?:select|order|columns)$/.test(name);
    if (!isList && !/(?:^|\.)(?:or|and)$/.test(name)) continue;
    const { nesting, opened, commas } = parentheses(value);
    if (commas >= maxItems) return invalid(`${name} lists more than ${maxItems} items.`);
    if (isList && (nesting > maxEmbedNesting || opened > maxEmbeds))
      return invalid(
        `${name} names more than ${maxEmbeds} embedded tables, or deeper than ${maxEmbedNesting}: ask in several requests.`,
      );
    if (isList && value.split(/[,()]/).some((item) => item.length > maxNameLength))
      return invalid(`An item of ${name} is longer than ${maxNameLength} characters.`);
    if (nesting > maxConditionNesting) return invalid(`${name} nests conditions deeper than ${maxConditionNesting}.`);
  }
  return undefined;
}

/** Ignores quotes: parsers may disagree about them, and nesting must not hide inside of one. */
function parentheses(text: string): { nesting: number; opened: number; commas: number } {
  let depth = 0;
  let [nesting, opened, commas] = [0, 0, 0];
  for (const character of text) {
    if (character === ",") commas++;
    else if (character === ")") depth--;
    else if (character === "(") {
      opened++;
      nesting = Math.max(nesting, ++depth);
    }
  }
  return { nesting, opened, commas };
}

const noFilters = new Set(["select", "columns", "order", "limit", "offset", "on_conflict"]);

/** A filter on an embedded table, such as comments.body, does not restrict the rows. */
const isFilter = (name: string) =>
  name !== "" && !noFilters.has(name) && (/^not\.(?:and|or)$/.test(name) || !name.includes("."));

/** As with the extension safeupdate, which hosted Supabase loads for the data API. */
const withoutFilter = (method: string): GatewayError => ({
  ...invalid(`${method === "PATCH" ? "UPDATE" : "DELETE"} requires a WHERE clause`),
  postgrestCode: "21000",
});

const invalid = (message: string): GatewayError => ({ status: 400, code: "VALIDATION_ERROR", message });
