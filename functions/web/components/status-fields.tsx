import { type SubmissionStatus, submissionStatuses } from "../../../shared/submissions.ts";
import { useVisit } from "../rendering.ts";
import { Field } from "./field.tsx";

const targets = submissionStatuses.filter((status) => status !== "duplicate");

type Props = {
  label: string;
  status: SubmissionStatus;
  words: { note: string; noteHint: string; notify: string };
  autofocus?: boolean;
};

/** The fields of a new status, with a note for followers. */
export const StatusFields = ({ label, status, words, autofocus = false }: Props) => {
  const { statuses } = useVisit().messages;
  return (
    <>
      <Field
        name="status"
        label={label}
        value={status}
        options={targets.map((value) => ({ value, label: statuses[value] }))}
        autofocus={autofocus}
      />
      <Field name="note" label={words.note} hint={words.noteHint} rows={2} />
      <label class="check">
        <input type="hidden" name="notify" value="false" />
        <input type="checkbox" name="notify" value="true" checked />
        {words.notify}
      </label>
    </>
  );
};
