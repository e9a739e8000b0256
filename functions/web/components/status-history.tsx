import { useVisit } from "../rendering.ts";
import { Day } from "./day.tsx";
import { LinkedText } from "./linked-text.tsx";
import { Status } from "./status.tsx";
import type { SubmissionProps } from "./submission-props.ts";

/** The statuses of a submission with their notes, newest first. */
export const StatusHistory = ({ submission, history }: SubmissionProps) => {
  const { messages } = useVisit();
  const { author } = submission;
  const words = messages.submission;
  return (
    <section class="card">
      <h2>{words.history}</h2>
      <ol class="history">
        {history.map((change) => (
          <li>
            <Status status={change.new_status} />
            <span class="quiet small">
              <bdi>{change.changed_by}</bdi>, <Day at={change.changed_at} />
            </span>
            {change.note && <LinkedText text={change.note} />}
          </li>
        ))}
        <li>
          <span>{words.submitted}</span>
          <span class="quiet small">
            <bdi>{author?.name}</bdi>
            {author?.is_team_member && <span class="tag team">{messages.comments.team}</span>},{" "}
            <Day at={submission.created_at} />
          </span>
        </li>
      </ol>
    </section>
  );
};
