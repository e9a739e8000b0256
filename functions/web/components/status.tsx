import type { SubmissionStatus } from "../../../shared/submissions.ts";
import { useVisit } from "../rendering.ts";

export const Status = ({ status }: { status: SubmissionStatus; messages?: object }) => (
  <span class={`status ${status}`}>{useVisit().messages.statuses[status]}</span>
);
