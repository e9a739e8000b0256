import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { root } from "../../local/postgres/database-server.ts";
import { agentCreate } from "../../shared/agents.ts";
import { rateLimits } from "../../shared/rate-limits.ts";
import { importFunction } from "../import-function.ts";

/** The rules for operations and levels, as private.admit_request uses them. */
const rulesOf = (operation: string) =>
  Object.keys(rateLimits).filter((rule) => new RegExp(`^${operation}(_(public|user|key|agent))?$`).test(rule));

test("every rule is used, and every name of a rule exists", async () => {
  const { endpoints } = await importFunction<{ endpoints: { operation?: string }[] }>(
    new URL("../../functions/api/app.ts", import.meta.url),
  );
  const { tools } = await importFunction<{ tools: { operation?: string }[] }>(
    new URL("../../functions/mcp/registry.ts", import.meta.url),
  );
  const used = new Set([...endpoints, ...tools].flatMap(({ operation }) => operation ?? []));
  const pages = readdirSync(`${root}/functions/web/pages`).filter((name) => name.endsWith(".tsx"));
  for (const name of pages)
    for (const [, rule = ""] of readFileSync(`${root}/functions/web/pages/${name}`, "utf8").matchAll(
      /operation: "(\w+)"/g,
    ))
      used.add(rule);
  const schemas = readdirSync(`${root}/supabase/schemas`)
    .filter((name) => name !== "51_rate_limits.sql")
    .map((name) => readFileSync(`${root}/supabase/schemas/${name}`, "utf8"));
  for (const [, rule = ""] of schemas
    .join("\n")
    .matchAll(/(?:charge_direct\(|charge_rule\(|(?='level_|'page' = any))'(\w+)'/g))
    used.add(rule);
  for (const tier of agentCreate.shape.tier.unwrap().options) used.add(`agent_${tier}`);
  expect([...used].filter((name) => rulesOf(name).length === 0)).toEqual([]);
  const counted = new Set([...used].flatMap(rulesOf));
  expect(Object.keys(rateLimits).filter((rule) => !counted.has(rule))).toEqual([]);
});
