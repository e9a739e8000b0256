import { eventsAnswer, eventsQuery } from "../../../shared/change-feed.ts";
import { invalid, notFound } from "../../_shared/api-error.ts";
import { decodeText, encodeText } from "../../_shared/base64url.ts";
import { answer, endpoint } from "../../_shared/endpoint.ts";
import { withPage } from "../../_shared/event-envelope.ts";
import { eventsAfter, type Place } from "../../_shared/statements/change-feed.ts";

type Event = { data: Record<string, unknown> };

const encodePlace = ({ xid, id, at }: Place) => encodeText(JSON.stringify([xid, id, at]));

function decodePlace(cursor: string): Place {
  try {
    const parts: unknown = JSON.parse(decodeText(cursor));
    if (Array.isArray(parts) && parts.length === 3) {
      const [xid, id, at] = parts.map(String) as [string, string, string];
      const isNumber = (part: string) => /^\d{1,18}$/.test(part);
      if (isNumber(xid) && isNumber(id) && /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?\+00$/.test(at))
        return { xid, id, at };
    }
  } catch {
    // Told below.
  }
  throw invalid("after", "must be a next_cursor from the meta of an earlier answer");
}

export const adminEvents = [
  endpoint({
    method: "get",
    path: "/admin/events",
    tag: "Administration",
    access: "caller",
    scopes: [
      "submissions:read",
      "submissions:moderate",
      "surveys:read",
      "responses:read",
      "members:write",
      "organization:write",
    ],
    summary: "Follow what happens in the organization, in the order it happened, as an admin",
    query: eventsQuery,
    answers: { 200: eventsAnswer },
    call: ({ query }) => [
      eventsAfter(
        query.types ?? null,
        query.after === undefined ? null : decodePlace(query.after),
        query.limit,
      ),
    ],
    respond: ([[page]]) => {
      if (!page) throw notFound("organization");
      const events = (JSON.parse(page.data) as Event[]).map((event) => ({
        ...event,
        data: withPage(event.data),
      }));
      return answer(200, JSON.stringify(events), { next_cursor: encodePlace(page), has_more: page.more });
    },
  }),
];
