/** A change of a submission: docs/realtime.md. */
export type LiveChange = {
  /** RELOAD: many rows changed at once; read them again. */
  event: "INSERT" | "UPDATE" | "DELETE" | "RELOAD";
  table: "submissions" | "votes" | "comments";
  record: Record<string, unknown> | null;
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

/** The part of a supabase-js client that `live` needs. */
export type RealtimeSource<Own extends Channel = Channel> = {
  channel(topic: string, options: { config: { private: boolean } }): Own;
  removeChannel(channel: Own): Promise<unknown>;
  realtime: { setAuth(): Promise<void> };
};

export type LiveSubscription = {
  /** Resolves when changes are received; rejects if the submission is not visible. */
  ready: Promise<void>;
  stop(): Promise<void>;
};

/**
 * Calls `onChange` for each vote, comment and change of a submission. After a lost connection the client joins again,
 * and `onMissed` says that changes may be missing: read the submission again.
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
      // Who stops does not wait for it any more.
      ready.catch(() => {});
      await supabase.removeChannel(channel);
    },
  };
}
