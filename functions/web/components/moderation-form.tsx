import type { z } from "zod";
import type { moderationState } from "../../../shared/fields.ts";
import { commentAddress } from "../../_shared/http/web-pages.ts";
import { moderate } from "../pages/submission-actions.ts";
import { useRendering } from "../rendering.ts";
import { Field } from "./field.tsx";
import { Form } from "./form.tsx";

type Props = {
  type: "submission" | "comment";
  id: string;
  /** Names the text that is shown, which an approval is about. */
  updatedAt: string;
  state: z.infer<typeof moderationState>;
  returnTo: string;
};

const results = { approve: "approved", reject: "rejected", spam: "spam" } as const;

/** For admins: the moderation decision on a submission or comment. */
export const ModerationForm = ({ type, id, updatedAt, state, returnTo }: Props) => {
  const { visit, params } = useRendering();
  const { manage } = visit.messages;
  const path = `/submissions/${params.id}/moderation`;
  return (
    <Form
      of={moderate}
      to={type === "comment" ? commentAddress(path, id) : path}
      class="stack"
      hidden={{ target_type: type, target_id: id, updated_at: updatedAt }}
      returnTo={returnTo}
      isOwn={(typed) => typed.get("target_id") === id}
    >
      <Field name="reason" id={`reason-${id}`} label={manage.reason} />
      <div class="buttons">
        {(["approve", "reject", "spam"] as const)
          .filter((action) => results[action] !== state)
          .map((action) => (
            <button
              type="submit"
              class={action === "approve" ? "button small main" : "button small"}
              name="action"
              value={action}
            >
              {manage[action]}
            </button>
          ))}
      </div>
    </Form>
  );
};
