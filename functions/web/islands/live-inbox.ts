import type { Island } from "./island.ts";
import { listen } from "./realtime.ts";
import { refreshSoon } from "./refresh.ts";

/** Marks items that another moderator has decided, and shows new pending items. */
export const connect: Island = (element, signal) => {
  const words: Record<string, string> = JSON.parse(element.dataset.decided ?? "{}");
  listen(
    element,
    signal,
    ({ event, payload: { record } }) => {
      if (event !== "MODERATION" || !record?.moderation_state) return;
      const item = document.getElementById(`item-${record.id}`);
      if (record.moderation_state === element.dataset.state) {
        if (!item || item.inert) refreshSoon();
        return;
      }
      if (!item || item.dataset.gone !== undefined) return;
      const note = item.querySelector<HTMLElement>("[data-by-other]");
      if (note) {
        note.textContent = words[record.moderation_state] ?? "";
        note.hidden = false;
      }
      item.inert = true;
    },
    refreshSoon,
  );
  element.dataset.live = "";
};
