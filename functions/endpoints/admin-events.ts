import { eventsAnswer, eventsQuery } from "../../shared/change-feed.ts";
import { withPage } from "../_shared/dispatch/event-envelope.ts";
import { notFound } from "../_shared/http/api-error.ts";
import { decodePlace, encodePlace } from "../_shared/http/cursor.ts";
import { dataResponse, endpointsOf } from "../_shared/http/endpoint.ts";
import { eventsAfter } from "../_shared/statements/change-feed.ts";

const { get } = endpointsOf({ tag: "Administration", access: "caller" });

type Event = { data: Record<string, unknown> };

export const adminEvents = [
  get("/admin/events", {
    scopes: [
      "submissions:read",
      "submissions:moderate",
      "surveys:read",
      "responses:read",
      "members:write",
      "organization:write",
    ],
    summary: "List events of the organization in commit order, as an admin",
    query: eventsQuery,
    responses: { 200: eventsAnswer },
    call: ({ query }) => [
      eventsAfter(query.types ?? null, query.after === undefined ? null : decodePlace(query.after), query.limit),
    ],
    respond: ([[page]]) => {
      if (!page) throw notFound("organization");
      const events = (JSON.parse(page.data) as Event[]).map((event) => ({ ...event, data: withPage(event.data) }));
      return dataResponse(200, JSON.stringify(events), { next_cursor: encodePlace(page), has_more: page.more });
    },
  }),
];
