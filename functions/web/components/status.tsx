import type { SubmissionStatus } from "../../../shared/submissions.ts";
import type { Messages } from "../../words/index.ts";

export const Status = ({ status, messages }: { status: SubmissionStatus; messages: Messages }) => (
  <span class={`status ${status}`}>{messages.statuses[status]}</span>
);
