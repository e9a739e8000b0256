import { submissionStatuses } from "../../../shared/submissions.ts";
import { useVisit } from "../rendering.ts";
import { Field, forForm, Problem } from "./field.tsx";
import { ModerationForm } from "./moderation-form.tsx";
import type { SubmissionProps } from "./submission-props.ts";

/** Actions of admins for a submission. */
export const TeamPanel = ({ submission, path, target }: SubmissionProps) => {
  const visit = useVisit();
  const { manage, statuses, submission: words } = visit.messages;
  const { id, moderation_state: state } = submission;
  const own = forForm(visit, (typed) => typed.has("status"));
  return (
    <section class="card stack">
      <h2>{manage.heading}</h2>
      {!target && (
        <form method="post" action={`/submissions/${id}/status`} class="stack">
          <Problem visit={own} />
          <input type="hidden" name="_method" value="patch" />
          <input type="hidden" name="return_to" value={path} />
          <Field
            name="status"
            label={manage.status}
            value={submission.status}
            options={submissionStatuses
              .filter((status) => status !== "duplicate")
              .map((status) => ({ value: status, label: statuses[status] }))}
            visit={own}
          />
          <Field
            name="note"
            label={manage.note}
            hint={manage.noteHint}
            rows={2}
            maxlength={2000}
            visit={own}
          />
          <label class="check">
            <input type="hidden" name="notify" value="false" />
            <input type="checkbox" name="notify" value="true" checked />
            {manage.notify}
          </label>
          <button type="submit" class="button">
            {manage.change}
          </button>
        </form>
      )}
      <details class="action wide" open={state === "pending" || visit.refused?.typed.get("target_id") === id}>
        <summary>{manage.moderation}</summary>
        <ModerationForm
          submissionId={id}
          type="submission"
          id={id}
          updatedAt={submission.updated_at}
          state={state}
          returnTo={path}
        />
      </details>
      <ul class="links">
        <li>
          <a class="link" href={`/submissions/${id}/edit`}>
            {words.editTitle}
          </a>
        </li>
        <li>
          <a class="link" href={`/submissions/${id}/voters`}>
            {manage.voters}
          </a>
        </li>
        {target ? (
          <li>
            <form method="post" action={`/submissions/${id}/unmerge`}>
              <input type="hidden" name="submission_id" value={id} />
              <input type="hidden" name="return_to" value={path} />
              <button type="submit" class="button small">
                {manage.unmerge}
              </button>
            </form>
          </li>
        ) : (
          <li>
            <a class="link" href={`/submissions/${id}/merge`}>
              {manage.mergeTitle}
            </a>
          </li>
        )}
      </ul>
    </section>
  );
};
