import { changeStatus, unmerge } from "../pages/submission-actions.ts";
import { useVisit } from "../rendering.ts";
import { Button } from "./button.tsx";
import { Form } from "./form.tsx";
import { FormButton } from "./form-button.tsx";
import { ModerationForm } from "./moderation-form.tsx";
import { StatusFields } from "./status-fields.tsx";
import type { SubmissionProps } from "./submission-props.ts";

/** Actions of admins for a submission. */
export const TeamPanel = ({ submission, here, target }: SubmissionProps) => {
  const visit = useVisit();
  const { manage, submission: words } = visit.messages;
  const { id, moderation_state: state } = submission;
  const links = [
    ["edit", words.editTitle],
    ["voters", manage.voters],
    ...(target ? [] : [["merge", manage.mergeTitle]]),
  ];
  return (
    <section class="card stack">
      <h2>{manage.heading}</h2>
      {!target && (
        <Form of={changeStatus} class="stack" returnTo={here}>
          <StatusFields label={manage.status} status={submission.status} words={manage} />
          <Button label={manage.change} />
        </Form>
      )}
      <details class="action wide" open={state === "pending" || visit.refused?.typed.get("target_id") === id}>
        <summary>{manage.moderation}</summary>
        <ModerationForm type="submission" id={id} updatedAt={submission.updated_at} state={state} returnTo={here} />
      </details>
      <ul class="links">
        {links.map(([page, text]) => (
          <li>
            <a class="link" href={`/submissions/${id}/${page}`}>
              {text}
            </a>
          </li>
        ))}
        {target && (
          <li>
            <FormButton of={unmerge} hidden={{ submission_id: id }} returnTo={here} look="button small">
              {manage.unmerge}
            </FormButton>
          </li>
        )}
      </ul>
    </section>
  );
};
