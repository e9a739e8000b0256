import { z } from "zod";
import { listOf } from "./envelopes.ts";
import { timestamp, uuid } from "./fields.ts";
import { cursor, pageFields } from "./pagination.ts";
import { authorReference } from "./taxonomy.ts";

// In ------------------------------------------------------------------------------------------------------------

export const auditQuery = z
  .object({
    limit: pageFields.limit,
    cursor: cursor.optional(),
    target_id: uuid.optional().describe("Only what was done to this row."),
    actor_id: uuid.optional().describe("Only what this person, or this key's profile, did."),
  })
  .meta({ id: "AuditQuery", description: "Which part of the audit trail to read, newest first." });

export type AuditQuery = z.infer<typeof auditQuery>;

// Out -----------------------------------------------------------------------------------------------------------

const auditEntry = z
  .object({
    id: uuid,
    action: z.string().describe("What was done, such as `submission.merge`."),
    target_type: z.string(),
    target_id: uuid.nullable(),
    actor: authorReference.nullable().describe("Who did it; null for an operator."),
    key_id: uuid.nullable().describe("The key it was done by; null for a person."),
    request_id: z.string().nullable().describe("The X-Request-Id of the call; null where none was made."),
    details: z.record(z.string(), z.unknown()).describe("What changed: fields, ids and states, no people."),
    at: timestamp,
  })
  .meta({ id: "AuditEntry", description: "One thing the team, a key or an operator did." });

export const auditAnswer = listOf(
  auditEntry,
  z
    .object({
      next_cursor: z.string().nullable().describe("Pass as `cursor` for the next page; null at the end."),
    })
    .meta({ id: "AuditMeta", description: "Where the trail goes on." }),
);
