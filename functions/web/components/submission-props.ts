import type { StatusChange, SubmissionDetail } from "../../../shared/submissions.ts";
import type { ThreadComment } from "../../_shared/statements/comments.ts";
import type { Frame } from "../../_shared/statements/pages.ts";

/** Data of a submission's page. */
export type SubmissionProps = {
  submission: SubmissionDetail;
  path: string;
  /** The path with the query of this page, for its forms to return to. */
  here: string;
  thread: string | undefined;
  /** The comment that the address names: null if it is not among those of the page. */
  named: string | null | undefined;
  page: number;
  pages: number;
  comments: ThreadComment[];
  history: StatusChange[];
  /** The submission that it was merged into. */
  target: { id: string; title: string } | null;
  frame: Frame;
  isAdmin: boolean;
};
