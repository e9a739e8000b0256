import { z } from "zod";
import { listOf } from "./envelopes.ts";
import { calendarDay, timestamp, uuid } from "./fields.ts";
import { cursor, pageFields } from "./pagination.ts";
import { authorReference } from "./taxonomy.ts";

// In ------------------------------------------------------------------------------------------------------------

export const auditQuery = z
  .object({
    limit: pageFields.limit,
    cursor: cursor.optional(),
    target_id: uuid.optional().describe("Only entries about this row."),
    action: z
      .string()
      .regex(/^[a-z_]{1,50}\.[a-z_]{1,50}$/, "must be an action such as submission.merge")
      .optional()
      .describe("Only this action."),
    from: calendarDay.optional().describe("First day, in the organization's time zone."),
    to: calendarDay.optional().describe("Last day, inclusive."),
    actor_id: uuid.optional().describe("Only entries by this person or this key's profile."),
  })
  .meta({ id: "AuditQuery", description: "Filter and page of the audit trail, newest first." });

export type AuditQuery = z.infer<typeof auditQuery>;

// Out -----------------------------------------------------------------------------------------------------------

const auditEntry = z
  .object({
    id: uuid,
    action: z.string().describe("Action, such as `submission.merge`."),
    target_type: z.string(),
    target_id: uuid.nullable(),
    actor: authorReference.nullable().describe("Actor; null for an operator."),
    key_id: uuid.nullable().describe("Key used; null for a person."),
    request_id: z.string().nullable().describe("X-Request-Id of the request; null outside of the API."),
    details: z.record(z.string(), z.unknown()).describe("Changed fields, ids and states; no personal data."),
    at: timestamp,
  })
  .meta({ id: "AuditEntry", description: "One action of the team, a key or an operator." });

export const auditAnswer = listOf(
  auditEntry,
  z
    .object({ next_cursor: z.string().nullable().describe("Pass as `cursor` for the next page; null at the end.") })
    .meta({ id: "AuditMeta", description: "The start of the next page of the audit trail." }),
);
