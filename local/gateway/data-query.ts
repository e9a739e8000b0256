import type { ErrorCode } from "../../shared/errors.ts";

export interface Problem {
  code: ErrorCode;
  message: string;
}

const maxQueryLength = 8 * 1024;
const maxParameters = 100;
const maxItems = 200;
const maxConditionNesting = 8;
const maxEmbeds = 12;
const maxEmbedNesting = 4;

/** Validates a query of the data API; returns the problem with queries that are too expensive to parse or run. */
export function validateQuery(search: string, prefer: string | undefined): Problem | undefined {
  // Both use the planner's estimate, which includes rows the caller may not see.
  if (/count\s*=(?!\s*"?(?:exact|none)\b)/i.test(prefer ?? ""))
    return invalid("Prefer: count must be exact; planned and estimated are not supported.");
  if (search.length > maxQueryLength)
    return invalid(
      `The query is longer than ${maxQueryLength} characters: ask for fewer rows at once, or call a function by POST.`,
    );
  const parameters = [...new URLSearchParams(search)];
  if (parameters.length > maxParameters)
    return invalid(`The query has more than ${maxParameters} parameters.`);
  for (const [name, value] of parameters) {
    // lite ignores a filter with such a name and would then update every row.
    if (name in Object.prototype) return invalid(`There is no column ${name}.`);
    const isList = /(?:^|\.)(?:select|order|columns)$/.test(name);
    if (!isList && !/(?:^|\.)(?:or|and)$/.test(name)) continue;
    const { nesting, opened, commas } = parentheses(value);
    if (commas >= maxItems) return invalid(`${name} lists more than ${maxItems} items.`);
    if (isList && (nesting > maxEmbedNesting || opened > maxEmbeds))
      return invalid(
        `${name} names more than ${maxEmbeds} embedded tables, or deeper than ${maxEmbedNesting}: ask in several requests.`,
      );
    if (nesting > maxConditionNesting)
      return invalid(`${name} nests conditions deeper than ${maxConditionNesting}.`);
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

const invalid = (message: string): Problem => ({ code: "VALIDATION_ERROR", message });
