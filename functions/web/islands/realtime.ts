import { type RealtimeChannel, RealtimeClient } from "@supabase/realtime-js";
import { untilReleased } from "./reader-activity.ts";

/** A broadcast message: docs/realtime.md. */
export type LiveMessage = {
  event: string;
  payload: {
    table?: string;
    record?: {
      id: string;
      status?: string;
      title?: string;
      moderation_state?: string;
      updated_at?: string;
    } & Partial<Counts>;
    old_record?: { id: string };
    submission?: { id: string } & Counts;
    records?: ({ id: string } & Counts)[];
  };
};
type Counts = { vote_count: number; comment_count: number };

/** Asking for each page twice costs more, also of the visitor's rate limit, than a change in its first seconds is worth. */
const soonMs = 3_000;
let shownAt = 0;
document.addEventListener("turbo:load", () => {
  shownAt = performance.now();
});

/**
 * Subscribes to the topics of the element until the signal aborts. Calls `onMissed` after an interruption, and if the
 * page had been shown for some time before it was joined, because changes in between were not heard. Messages are delayed while the reader presses a
 * button, because the button could move.
 */
export function listen(
  element: HTMLElement,
  signal: AbortSignal,
  onMessage: (message: LiveMessage) => void,
  onMissed: () => void,
) {
  const client = sharedClient(element, signal);
  const deliver = async (message: LiveMessage) => {
    await untilReleased();
    if (!signal.aborted) onMessage(message);
  };
  for (const topic of (element.dataset.topics ?? "").split(" ")) {
    const channel = client
      .channel(topic, { config: { private: true } })
      .on("broadcast", { event: "*" }, ({ event, payload }) => deliver({ event, payload }));
    join(client, channel, signal, (isAgain) => (isAgain || performance.now() - shownAt > soonMs) && onMissed());
  }
}

/** Calls `onChange` after each change of the visitor's notifications, and after an interruption. */
export function listenToNotifications(element: HTMLElement, signal: AbortSignal, onChange: () => void) {
  const client = sharedClient(element, signal);
  const filter = `user_id=eq.${element.dataset.user}`;
  const channel = client
    .channel("own-notifications")
    .on("postgres_changes", { event: "*", schema: "public", table: "notifications", filter }, onChange);
  // The next page has the number, too: what the first connection missed is not worth a request for each page.
  join(client, channel, signal, (isAgain) => isAgain && onChange());
}

/** Subscribes after the visitor's token was set, because the first message authenticates the subscription. */
async function join(
  client: RealtimeClient,
  channel: RealtimeChannel,
  signal: AbortSignal,
  onJoin: (isAgain: boolean) => void,
) {
  await client.setAuth();
  if (signal.aborted) return;
  let isAgain = false;
  channel.subscribe((status) => {
    if (status !== "SUBSCRIBED") return;
    onJoin(isAgain);
    isAgain = true;
  });
  signal.addEventListener("abort", () => client.removeChannel(channel));
}

let shared: { client: RealtimeClient; users: number } | undefined;

/** All islands of a page share one connection. */
function sharedClient({ dataset }: HTMLElement, signal: AbortSignal): RealtimeClient {
  const { url = "", key = "" } = dataset;
  shared ??= {
    client: new RealtimeClient(`${url.replace(/^http/, "ws")}/realtime/v1`, {
      params: { apikey: key },
      accessToken: "session" in dataset ? sessionToken(key) : async () => key,
    }),
    users: 0,
  };
  const mine = shared;
  mine.users++;
  signal.addEventListener("abort", () => {
    mine.users--;
    if (mine.users > 0) return;
    mine.client.disconnect();
    if (shared === mine) shared = undefined;
  });
  return mine.client;
}

/** Returns the session's token, which it renews a minute before expiry; the public key if the session has ended. */
function sessionToken(key: string) {
  let known: { token: string; until: number } | undefined;
  return async () => {
    if (known && Date.now() < known.until) return known.token;
    const response = await fetch("/realtime-token", { redirect: "error" });
    const { token } = (await response.json()) as { token: string | null };
    if (!token) return key;
    const { exp } = JSON.parse(atob((token.split(".")[1] ?? "").replace(/-/g, "+").replace(/_/g, "/")));
    known = { token, until: exp * 1000 - 60_000 };
    return token;
  };
}
