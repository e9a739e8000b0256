import { showVotes } from "./counts.ts";
import type { Island } from "./island.ts";
import { listen } from "./realtime.ts";
import { refreshSoon } from "./refresh.ts";

/** Updates the board in place. It announces new submissions and does not insert them, so that rows do not move. */
export const connect: Island = (element, signal) => {
  const statuses: Record<string, string> = JSON.parse(element.dataset.statuses ?? "{}");
  const fresh = element.querySelector<HTMLElement>(".fresh");
  const rowOf = (id: string) => document.getElementById(`submission-${id}`);
  const seen = new Set<string>();

  function announce(id: string) {
    const number = fresh?.querySelector(".number");
    if (!fresh || !number || rowOf(id)) return;
    seen.add(id);
    number.textContent = new Intl.NumberFormat(document.documentElement.lang).format(seen.size);
    fresh.hidden = false;
  }

  function showComments(id: string, comments: number) {
    const count = rowOf(id)?.querySelector<HTMLElement>(".comments");
    const number = count?.querySelector(".number");
    if (!count || !number) return;
    number.textContent = new Intl.NumberFormat(document.documentElement.lang).format(comments);
    count.hidden = comments === 0;
  }

  function showCounts({ id, vote_count, comment_count }: { id: string; vote_count: number; comment_count: number }) {
    showVotes(id, vote_count);
    showComments(id, comment_count);
  }

  function showStatus(id: string, status: string) {
    const shown = rowOf(id)?.querySelector(".status");
    const label = statuses[status];
    if (!shown || !label) return;
    shown.className = `status ${status}`;
    shown.textContent = label;
  }

  listen(
    element,
    signal,
    ({ event, payload: { record, old_record, records } }) => {
      if (event === "COUNTS") for (const counts of records ?? []) showCounts(counts);
      else if (event === "INSERT" && record) announce(record.id);
      else if (event === "UPDATE" && record) {
        const { id, status, vote_count, comment_count } = record;
        if (status) showStatus(id, status);
        if (vote_count !== undefined && comment_count !== undefined) showCounts({ id, vote_count, comment_count });
      } else if (event === "DELETE" && old_record) {
        const row = rowOf(old_record.id);
        if (row) row.inert = true;
      } else if (event === "RELOAD") refreshSoon();
    },
    refreshSoon,
  );
};
