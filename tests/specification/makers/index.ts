import type { Scope } from "../../../shared/scopes.ts";
import { agents } from "./agents.ts";
import { comments } from "./comments.ts";
import type { Maker } from "./maker.ts";
import { organizations } from "./organizations.ts";
import { addresses, keys, people } from "./people.ts";
import { submissions } from "./submissions.ts";
import { surveys } from "./surveys.ts";
import { webhooks } from "./webhooks.ts";

export const makers = {
  ...people,
  ...keys,
  ...addresses,
  ...organizations,
  ...submissions,
  ...comments,
  ...surveys,
  ...agents,
  ...webhooks,
} satisfies Record<string, Maker>;

const areas = [people, keys, addresses, organizations, submissions, comments, surveys, agents, webhooks];
const names = areas.flatMap((area) => Object.keys(area));
const repeated = names.filter((name, index) => names.indexOf(name) < index);
if (repeated.length > 0) throw new Error(`two makers have the same name: ${repeated.join(", ")}`);

/** Keys are named with a scope, such as "key surveys:read", or have every scope. */
type KeyName = keyof typeof keys;
export type CallerName = "nobody" | keyof typeof people | KeyName | `${KeyName} ${Scope}`;

/** The name of the maker: that of the thing without a scope. */
export function nameOf(name: string): keyof typeof makers {
  const [maker = ""] = name.split(" ");
  if (!(maker in makers)) throw new Error(`tests/specification/makers has no maker of :${maker}`);
  return maker as keyof typeof makers;
}
