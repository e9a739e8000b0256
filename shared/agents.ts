import { z } from "zod";
import { apiKeyCreate } from "./admin.ts";
import { dataOf, listOf } from "./envelopes.ts";
import { shortArrayOf, timestamp, uuid, wholeNumber } from "./fields.ts";
import { queryInteger } from "./pagination.ts";
import { scope } from "./scopes.ts";
import { text } from "./text.ts";

const agentTiers = ["standard", "professional", "enterprise"] as const;
const tier = z.enum(agentTiers).meta({
  id: "AgentTier",
  description: "How often it may call: 60, 300 or 1,000 times a minute, where the operator left it so.",
});

// In ------------------------------------------------------------------------------------------------------------

const name = text({ min: 1, max: 100 }).describe(
  "Shown as the author of what it writes; 1 to 100 characters.",
);
const description = text({ min: 0, max: 500 });

export const agentCreate = z
  .object({
    name,
    tier: tier.default("standard"),
    description: description.nullish().describe("What it is for, for admins; up to 500 characters."),
  })
  .meta({ id: "AgentCreate", description: "An agent of the organization." });

export type AgentCreate = z.infer<typeof agentCreate>;

export const agentPatch = z
  .object({
    name: name.optional(),
    tier: tier.optional(),
    description: description.nullish().describe("Null takes it away."),
  })
  .refine((patch) => Object.keys(patch).length > 0, {
    error: "must name at least one of name, tier, description",
  })
  .meta({ id: "AgentPatch", description: "What to change; at least one field.", minProperties: 1 });

export type AgentPatch = z.infer<typeof agentPatch>;

export const agentKeyCreate = z
  .object({
    name: text({ min: 1, max: 100 })
      .nullish()
      .describe("What the key is for, 1 to 100 characters; the agent's name without."),
    scopes: apiKeyCreate.shape.scopes,
    expires_at: apiKeyCreate.shape.expires_at,
  })
  .meta({ id: "AgentKeyCreate", description: "A key for an agent." });

export type AgentKeyCreate = z.infer<typeof agentKeyCreate>;

const ids = (what: string) =>
  shortArrayOf(uuid, 200)
    .nullable()
    .default(null)
    .describe(`The only ${what} it may see and touch, at most 200; null for all.`);

const policyFields = {
  read_only: z.boolean().default(false).describe("Its keys keep the scopes that end in `:read` only."),
  confirm_destructive: z
    .boolean()
    .default(false)
    .describe("Tools that change or remove what is there need `confirm: true`."),
  tools: shortArrayOf(z.string().regex(/^[a-z_]{1,64}$/, "must be the name of a tool"), 100)
    .nullable()
    .default(null)
    .describe("The only tools it may call; null for all its scopes allow."),
  category_ids: ids("categories"),
  survey_ids: ids("surveys"),
  calls_a_day: wholeNumber(1, 1_000_000_000)
    .nullable()
    .default(null)
    .describe("Calls in 24 hours from the first; null for as many as its tier allows."),
};

export const agentPoliciesUpdate = z.object(policyFields).meta({
  id: "AgentPoliciesUpdate",
  description: "All policies of an agent; what is left out narrows nothing.",
});

export type AgentPolicies = z.infer<typeof agentPoliciesUpdate>;

export const agentAuditQuery = z
  .object({
    limit: queryInteger(1, 100).prefault(50).describe("Items a page, 1 to 100."),
    before: queryInteger(1, 999_999_999)
      .optional()
      .describe("Goes on below this id: `meta.next_before` of an earlier answer."),
    tool: z.string().max(64).optional().describe("Calls of one tool."),
    outcome: z.string().max(64).optional().describe("`ok`, or the code of an error."),
  })
  .meta({ id: "AgentAuditQuery", description: "Which calls of an agent to list." });

export type AgentAuditQuery = z.infer<typeof agentAuditQuery>;

// Out -----------------------------------------------------------------------------------------------------------

const agent = z
  .object({
    id: uuid.describe("Also the `author_id` of what it writes."),
    name: z.string(),
    description: z.string().nullable(),
    tier,
    retired_at: timestamp.nullable(),
    created_at: timestamp,
  })
  .meta({ id: "Agent", description: "Who calls the agent endpoint." });

const policies = z
  .object({
    read_only: z.boolean(),
    confirm_destructive: z.boolean(),
    tools: z.array(z.string()).nullable(),
    category_ids: z.array(uuid).nullable(),
    survey_ids: z.array(uuid).nullable(),
    calls_a_day: z.int().nullable(),
  })
  .meta({ id: "AgentPolicies", description: "What narrows an agent; null narrows nothing." });

const auditedCall = z
  .object({
    id: z.int(),
    key_id: uuid,
    request_id: uuid,
    tool: z.string(),
    scope: scope.nullable(),
    outcome: z.string().describe("`ok`, or the code of the error."),
    duration_ms: z.number(),
    argument_names: z.array(z.string()).describe("Never their values."),
    address: z.string().nullable().describe("A keyed hash: the same for the same address."),
    created_at: timestamp,
  })
  .meta({ id: "AuditedCall", description: "What an agent called." });

export const agentAnswer = dataOf(agent);
export const agentListAnswer = dataOf(z.array(agent));
export const agentPoliciesAnswer = dataOf(policies);
export const agentAuditAnswer = listOf(
  auditedCall,
  z
    .object({
      next_before: z.int().nullable().describe("Pass as `before` for what is older; null at the end."),
    })
    .meta({ id: "AgentAuditMeta", description: "Where a page of the audit trail ends." }),
);
