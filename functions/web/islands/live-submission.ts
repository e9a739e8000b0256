import { versionOf } from "../version.ts";
import { showVotes } from "./counts.ts";
import type { Island } from "./island.ts";
import { type LiveMessage, listen } from "./realtime.ts";
import { refreshSoon } from "./refresh.ts";

/** Updates the page of a submission: votes from the message, everything else by a refresh. */
export const connect: Island = (element, signal) =>
  listen(
    element,
    signal,
    ({ event, payload }) => {
      const { table, record, submission } = payload;
      if (submission) showVotes(submission.id, submission.vote_count);
      if (table === "comments" && record?.vote_count !== undefined) showVotes(record.id, record.vote_count);
      if (table !== "votes" || event === "RELOAD") refreshSoon(() => isShown(event, payload));
    },
    refreshSoon,
  );

/** Whether the page shows the change already, for example because its reader made it. */
function isShown(event: string, { table, record, old_record }: LiveMessage["payload"]): boolean {
  const shown = (id: string) => document.getElementById(table === "comments" ? `comment-${id}` : "submission");
  if (event === "DELETE" && old_record) return table === "comments" && !shown(old_record.id);
  if (event === "INSERT" && record) return table === "comments" && shown(record.id) !== null;
  return event === "UPDATE" && record !== undefined && shown(record.id)?.dataset.version === versionOf(record);
}
