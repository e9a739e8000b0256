import { submissionPath } from "../paths.ts";
import { Icon } from "./icon.tsx";

/** Leads from a page about a submission back to it. */
export const BackToSubmission = ({ of: { id, title } }: { of: { id: string; title: string } }) => (
  <a class="quiet with-icon" href={submissionPath(id, title)}>
    <Icon name="arrow-left" />
    {title}
  </a>
);
