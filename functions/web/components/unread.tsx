import type { Frame } from "../../_shared/statements/pages.ts";
import type { Visit } from "../visit.ts";
import { Icon } from "./icon.tsx";
import { liveNotifications } from "./live.ts";

type Props = { viewer: NonNullable<Frame["viewer"]>; visit: Visit };

/** Leads to the notifications, with how many are unread; a script reads this part again when they change. */
export const Unread = ({ viewer, visit }: Props) => (
  <div id="unread" {...liveNotifications(viewer)}>
    <a
      class="quiet icon-link"
      href="/notifications"
      aria-label={visit.messages.nav.notifications(viewer.unread_count)}
    >
      <Icon name="bell" />
      {viewer.unread_count > 0 && (
        <span class="badge">{viewer.unread_count > 99 ? "99+" : viewer.unread_count}</span>
      )}
    </a>
  </div>
);
