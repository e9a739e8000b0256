import type { StatusChange, SubmissionDetail } from "../../../shared/submissions.ts";
import type { ThreadComment } from "../../_shared/statements/comments.ts";
import type { Frame } from "../../_shared/statements/pages.ts";

/** Data of a submission's page. */
export type SubmissionProps = {
  submission: SubmissionDetail;
  path: string;
  thread: string | undefined;
  page: number;
  pages: number;
  comments: ThreadComment[];
  history: StatusChange[];
  /** The submission that it was merged into. */
  target: { id: string; title: string } | null;
  frame: Frame;
  isAdmin: boolean;
};
