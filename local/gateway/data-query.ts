import type { ErrorCode } from "../../shared/errors.ts";

export interface Problem {
  code: ErrorCode;
  message: string;
}

const longestQuery = 8 * 1024;
const mostParameters = 100;
const mostItems = 200;
const deepestConditions = 8;
const mostEmbeds = 12;
const deepestEmbeds = 4;

/** What is wrong with a query of the data API: whatever would cost more to read than it could be worth. */
export function problemOfQuery(search: string, prefer: string | undefined): Problem | undefined {
  // Both read the planner's estimate, which counts rows that the caller may not see.
  if (/count\s*=(?!\s*"?(?:exact|none)\b)/i.test(prefer ?? ""))
    return invalid("Prefer: count takes exact only; planned and estimated are not offered.");
  if (search.length > longestQuery)
    return invalid(
      `The query is longer than ${longestQuery} characters: ask for fewer rows at once, or call a function by POST.`,
    );
  const parameters = [...new URLSearchParams(search)];
  if (parameters.length > mostParameters)
    return invalid(`The query has more than ${mostParameters} parameters.`);
  for (const [name, value] of parameters) {
    // lite leaves a filter of such a name out, and would then change every row.
    if (name in Object.prototype) return invalid(`There is no column ${name}.`);
    const isList = /(?:^|\.)(?:select|order|columns)$/.test(name);
    if (!isList && !/(?:^|\.)(?:or|and)$/.test(name)) continue;
    const { deepest, opened, commas } = parentheses(value);
    if (commas >= mostItems) return invalid(`${name} lists more than ${mostItems} items.`);
    if (isList && (deepest > deepestEmbeds || opened > mostEmbeds))
      return invalid(
        `${name} names more than ${mostEmbeds} embedded tables, or deeper than ${deepestEmbeds}: ask in several requests.`,
      );
    if (deepest > deepestConditions)
      return invalid(`${name} nests conditions deeper than ${deepestConditions}.`);
  }
  return undefined;
}

/** Quotes are not looked at: what a reader takes for a quote may differ, and a depth must not hide in one. */
function parentheses(text: string): { deepest: number; opened: number; commas: number } {
  let depth = 0;
  let [deepest, opened, commas] = [0, 0, 0];
  for (const character of text) {
    if (character === ",") commas++;
    else if (character === ")") depth--;
    else if (character === "(") {
      opened++;
      deepest = Math.max(deepest, ++depth);
    }
  }
  return { deepest, opened, commas };
}

const invalid = (message: string): Problem => ({ code: "VALIDATION_ERROR", message });
