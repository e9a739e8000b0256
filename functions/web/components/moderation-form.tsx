import type { z } from "zod";
import type { moderationState } from "../../../shared/fields.ts";
import { useVisit } from "../rendering.ts";
import { forForm, Problem } from "./field.tsx";

type Props = {
  submissionId: string;
  type: "submission" | "comment";
  id: string;
  /** Names the text that is shown, which an approval is about. */
  updatedAt: string;
  state: z.infer<typeof moderationState>;
  returnTo: string;
};

const actions = { approve: "approved", reject: "rejected", spam: "spam" } as const;

/** For admins: the moderation decision on a submission or comment. */
export const ModerationForm = ({ submissionId, type, id, updatedAt, state, returnTo }: Props) => {
  const visit = useVisit();
  const { manage } = visit.messages;
  return (
    <form
      method="post"
      action={`/submissions/${submissionId}/moderation${type === "comment" ? `#comment-${id}` : ""}`}
      class="stack"
    >
      <Problem visit={forForm(visit, (typed) => typed.get("target_id") === id)} />
      <input type="hidden" name="target_type" value={type} />
      <input type="hidden" name="target_id" value={id} />
      <input type="hidden" name="updated_at" value={updatedAt} />
      <input type="hidden" name="return_to" value={returnTo} />
      <div class="field">
        <label for={`reason-${id}`}>{manage.reason}</label>
        <input id={`reason-${id}`} name="reason" maxlength={500} />
      </div>
      <div class="buttons">
        {Object.entries(actions).map(
          ([action, result]) =>
            result !== state && (
              <button
                type="submit"
                class={action === "approve" ? "button small main" : "button small"}
                name="action"
                value={action}
              >
                {manage[action as keyof typeof actions]}
              </button>
            ),
        )}
      </div>
    </form>
  );
};
