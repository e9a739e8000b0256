import { z } from "zod";
import { dataOf } from "./envelopes.ts";
import { canonicalEventName, type EventAlias, type EventName, eventAliases, eventNames } from "./events.ts";
import { patternOfList, timestamp, uuid } from "./fields.ts";
import { cursor, queryInteger } from "./pagination.ts";

const names: readonly string[] = [...eventNames, ...Object.keys(eventAliases)];

export const eventsQuery = z
  .object({
    after: cursor
      .optional()
      .describe("The `next_cursor` of an earlier response; without it the feed starts with the oldest retained event."),
    limit: queryInteger(1, 100).prefault(100).describe("Events per page, 1 to 100."),
    types: z
      .string()
      .max(1000)
      .optional()
      .transform((value, ctx): EventName[] | undefined => {
        const requested = value?.split(",").map((name) => name.trim());
        if (requested?.every((name) => names.includes(name)) ?? true)
          return requested?.map((name) => canonicalEventName(name as EventName | EventAlias));
        ctx.issues.push({
          code: "custom",
          message: `must be a comma-separated list of ${eventNames.join(", ")}`,
          input: value,
        });
        return z.NEVER;
      })
      .meta({ pattern: patternOfList(names) })
      .describe("Event names, comma-separated; by default all events that the caller may read."),
  })
  .meta({ id: "EventsQuery", description: "Position and filter of the change feed." });

export const eventsAnswer = dataOf(
  z.array(
    z
      .object({
        id: z.string().regex(/^evt_[0-9a-f]{32}$/),
        event: z.enum(eventNames),
        org_id: uuid,
        timestamp,
        data: z.record(z.string(), z.unknown()).describe("As in webhooks, by event name."),
      })
      .meta({ id: "Event", description: "An event, in the envelope of webhooks." }),
  ),
).extend({
  meta: z.object({
    next_cursor: z.string().describe("Cursor of the next page; store it after the events are processed."),
    has_more: z.boolean().describe("Whether to request the next page at once, even if this one is empty."),
  }),
});
