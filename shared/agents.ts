import { z } from "zod";
import { apiKeyCreate } from "./admin.ts";
import { dataOf, listOf } from "./envelopes.ts";
import { patchOf, shortArrayOf, timestamp, uuid, wholeNumber } from "./fields.ts";
import { queryInteger } from "./pagination.ts";
import { rateLimits } from "./rate-limits.ts";
import { scope } from "./scopes.ts";
import { author } from "./taxonomy.ts";
import { text } from "./text.ts";

const agentTiers = ["standard", "professional", "enterprise"] as const;
const tier = z
  .enum(agentTiers)
  .meta({
    id: "AgentTier",
    description: `Rate limit: ${agentTiers
      .map((name) => rateLimits[`agent_${name}`].max_requests)
      .join(", ")} times a minute, where the operator left it so.`,
  });

// In ------------------------------------------------------------------------------------------------------------

const name = text({ min: 1, max: 100 }).describe("Author name of its content; 1 to 100 characters.");
const description = text({ min: 0, max: 500 });

export const agentCreate = z
  .object({
    name,
    tier: tier.default("standard"),
    description: description.nullish().describe("Purpose, for admins; up to 500 characters."),
  })
  .meta({ id: "AgentCreate", description: "An agent of the organization." });

export type AgentCreate = z.infer<typeof agentCreate>;

export const agentPatch = patchOf({
  name: name.optional(),
  tier: tier.optional(),
  description: description.nullish().describe("Null removes it."),
}).meta({ id: "AgentPatch", description: "Changed fields; at least one.", minProperties: 1 });

export type AgentPatch = z.infer<typeof agentPatch>;

export const agentKeyCreate = z
  .object({
    name: text({ min: 1, max: 100 })
      .nullish()
      .describe("Purpose of the key, 1 to 100 characters; defaults to the agent's name."),
    scopes: apiKeyCreate.shape.scopes,
    expires_at: apiKeyCreate.shape.expires_at,
  })
  .meta({ id: "AgentKeyCreate", description: "A key of an agent." });

export type AgentKeyCreate = z.infer<typeof agentKeyCreate>;

const ids = (what: string) =>
  shortArrayOf(uuid, 200)
    .nullable()
    .default(null)
    .describe(`The only ${what} that it may see and change, at most 200; null for all.`);

const policyFields = {
  read_only: z.boolean().default(false).describe("Its keys keep only scopes that end in `:read`."),
  confirm_destructive: z.boolean().default(false).describe("Destructive tools need `confirm: true`."),
  tools: shortArrayOf(z.string().regex(/^[a-z_]{1,64}$/, "must be the name of a tool"), 100)
    .nullable()
    .default(null)
    .describe("Tools it may call; null for all that its scopes allow."),
  category_ids: ids("categories"),
  survey_ids: ids("surveys"),
  calls_a_day: wholeNumber(1, 1_000_000_000)
    .nullable()
    .default(null)
    .describe("Calls in a window of 24 hours; null for no limit besides its tier."),
};

export const agentPoliciesUpdate = z
  .object(policyFields)
  .meta({ id: "AgentPoliciesUpdate", description: "All policies of an agent; an omitted one does not restrict." });

export type AgentPolicies = z.infer<typeof agentPoliciesUpdate>;

export const agentAuditQuery = z
  .object({
    limit: queryInteger(1, 100).prefault(50).describe("Items per page, 1 to 100."),
    before: queryInteger(1, 999_999_999)
      .optional()
      .describe("Continue below this id: `meta.next_before` of an earlier response."),
    tool: z.string().max(64).optional().describe("Only calls of this tool."),
    outcome: z.string().max(64).optional().describe("`ok`, or an error code."),
  })
  .meta({ id: "AgentAuditQuery", description: "Filter and page of an agent's calls." });

export type AgentAuditQuery = z.infer<typeof agentAuditQuery>;

// Out -----------------------------------------------------------------------------------------------------------

const agent = z
  .object({
    id: uuid.describe("Also the `author_id` of its content."),
    name: z.string(),
    description: z.string().nullable(),
    tier,
    retired_at: timestamp.nullable(),
    created_at: timestamp,
    created_by: author.nullable().describe("Null if made by an operator."),
  })
  .meta({ id: "Agent", description: "An agent that calls the tools." });

const policies = z
  .object({
    read_only: z.boolean(),
    confirm_destructive: z.boolean(),
    tools: z.array(z.string()).nullable(),
    category_ids: z.array(uuid).nullable(),
    survey_ids: z.array(uuid).nullable(),
    calls_a_day: z.int().nullable(),
  })
  .meta({ id: "AgentPolicies", description: "Policies of an agent; null means no restriction." });

const auditedCall = z
  .object({
    id: z.int(),
    key_id: uuid,
    request_id: uuid,
    tool: z.string(),
    scope: scope.nullable(),
    outcome: z.string().describe("`ok`, or the error code."),
    duration_ms: z.number(),
    argument_names: z.array(z.string()).describe("Names only, never values."),
    address: z.string().nullable().describe("Keyed hash of the address."),
    created_at: timestamp,
  })
  .meta({ id: "AuditedCall", description: "A call of an agent." });

export const agentAnswer = dataOf(agent);
export const agentListAnswer = dataOf(z.array(agent));
export const agentPoliciesAnswer = dataOf(policies);
export const agentAuditAnswer = listOf(
  auditedCall,
  z
    .object({ next_before: z.int().nullable().describe("Pass as `before` for the next page; null at the end.") })
    .meta({ id: "AgentAuditMeta", description: "The end of a page of the audit trail." }),
);
