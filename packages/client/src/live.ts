/** The broadcast of a change of a submission, one of its votes or one of its comments: docs/realtime.md. */
export type LiveChange = {
  /** RELOAD: many rows changed at once; read them again. */
  event: "INSERT" | "UPDATE" | "DELETE" | "RELOAD";
  /** The table of the row that changed. */
  table: "submissions" | "votes" | "comments";
  /** The row after the change; null if it was deleted. */
  record: Record<string, unknown> | null;
  /** The row before the change; null if it was inserted. */
  old_record: Record<string, unknown> | null;
  /** The counts after a vote or a comment. */
  submission?: { id: string; vote_count: number; comment_count: number };
};

type Channel = {
  on(
    type: "broadcast",
    filter: { event: string },
    callback: (message: { event: string; payload?: unknown }) => void,
  ): Channel;
  subscribe(callback: (status: string, error?: Error) => void): unknown;
};

/** The part of a supabase-js client that {@link live} needs. */
export type RealtimeSource<Own extends Channel = Channel> = {
  /** Creates a channel for a topic. */
  channel(topic: string, options: { config: { private: boolean } }): Own;
  /** Leaves a channel. */
  removeChannel(channel: Own): Promise<unknown>;
  /** Uses the client's current access token for the channels. */
  realtime: { setAuth(): Promise<void> };
};

/** A subscription by {@link live}. */
export type LiveSubscription = {
  /** Resolves when changes are received; rejects if the submission is not visible. */
  ready: Promise<void>;
  /** Leaves the channel. `onChange` is not called afterwards. */
  stop(): Promise<void>;
};

/**
 * Calls `onChange` for each vote, comment and change of a submission. After a lost connection the client joins the
 * channel again and calls `onMissed`: changes may be missing, so read the submission again.
 *
 * @param supabase - A client with the session of the person, or with the publishable key for public submissions.
 * @param submissionId - The id of the submission.
 * @param onChange - Called with each change, in the order of the commits.
 * @param onMissed - Called after the channel was joined again.
 * @returns The subscription, whose `ready` rejects if the submission is not visible.
 *
 * @example
 * ```ts
 * import { createClient } from "@supabase/supabase-js";
 * import { live } from "@feedback-collection-service/client";
 *
 * const supabase = createClient("https://feedback.example.com", "sb_publishable_…");
 * const subscription = live(supabase, "5f0c6f3e-3c0d-4b52-9c0a-0f4d0c1f7f10", ({ submission }) => {
 *   if (submission) console.log(submission.vote_count, "votes");
 * });
 * await subscription.ready;
 * // Later, when the page is left:
 * await subscription.stop();
 * ```
 */
export function live<Own extends Channel>(
  supabase: RealtimeSource<Own>,
  submissionId: string,
  onChange: (change: LiveChange) => void,
  onMissed: () => void = () => {},
): LiveSubscription {
  let hasJoined = false;
  let isStopped = false;
  const channel = supabase.channel(`submission:${submissionId}`, { config: { private: true } });
  const ready = supabase.realtime.setAuth().then(
    () =>
      new Promise<void>((resolve, reject) => {
        if (isStopped) return reject(new Error("The channel was left before it was joined."));
        channel
          .on("broadcast", { event: "*" }, ({ event, payload }) =>
            onChange({ ...(payload as object), event } as LiveChange),
          )
          .subscribe((status, error) => {
            if (status === "SUBSCRIBED") {
              if (hasJoined) onMissed();
              hasJoined = true;
              resolve();
            } else if (!hasJoined) reject(error ?? new Error(`The channel of the submission: ${status}`));
          });
      }),
  );
  return {
    ready,
    async stop() {
      isStopped = true;
      // Nobody may handle a rejection of `ready` after stop().
      ready.catch(() => {});
      await supabase.removeChannel(channel);
    },
  };
}
