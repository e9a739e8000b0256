import type { Frame } from "../../_shared/statements/pages.ts";
import { useVisit } from "../rendering.ts";
import { Icon } from "./icon.tsx";
import { liveNotifications } from "./live.ts";

type Props = { viewer: NonNullable<Frame["viewer"]> };

/** Leads to the notifications, with how many are unread; a script reads this part again when they change. */
export const Unread = ({ viewer }: Props) => {
  const visit = useVisit();
  return (
    <div id="unread" {...liveNotifications(viewer)}>
      <a
        class="quiet icon-link"
        href="/notifications"
        aria-label={visit.messages.nav.notifications(viewer.unread_count)}
      >
        <Icon name="bell" />
        {viewer.unread_count > 0 && <span class="badge">{viewer.unread_count > 99 ? "99+" : viewer.unread_count}</span>}
      </a>
    </div>
  );
};
