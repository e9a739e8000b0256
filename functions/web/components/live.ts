import type { SubmissionDetail } from "../../../shared/submissions.ts";
import { environment } from "../../_shared/runtime/environment.ts";
import type { Frame } from "../../_shared/statements/pages.ts";

// Attributes of realtime islands. Members of the team also join the team's private topic, with their session.
function liveAttributes(island: string, topic: string, { viewer }: Frame, isPublic: boolean) {
  const topics = [...(isPublic ? [topic] : []), ...(viewer?.role ? [`${topic}:team`] : [])];
  if (topics.length === 0) return {};
  return { "data-island": island, ...connection(viewer), "data-topics": topics.join(" ") };
}

/** Attributes of the connection, which all islands of a page share. It uses the session of a signed-in user. */
const connection = (viewer: Frame["viewer"]) => ({
  "data-url": environment.supabaseUrl,
  "data-key": [...environment.publicKeys][0],
  "data-session": viewer ? "" : undefined,
});

export const liveNotifications = (viewer: NonNullable<Frame["viewer"]>) => ({
  "data-island": "live-notifications",
  ...connection(viewer),
  "data-user": viewer.id,
});

export const liveSubmission = ({ id, moderation_state }: SubmissionDetail, frame: Frame) =>
  liveAttributes(
    "live-submission",
    `submission:${id}`,
    frame,
    frame.organization?.visibility === "public" && moderation_state === "approved",
  );

/** Pending content is broadcast to the team's topic only. */
export const liveInbox = (frame: Frame) =>
  liveAttributes("live-inbox", `organization:${frame.organization?.id}`, frame, false);

export const liveBoard = (frame: Frame) =>
  liveAttributes(
    "live-board",
    `organization:${frame.organization?.id}`,
    frame,
    frame.organization?.visibility === "public",
  );
