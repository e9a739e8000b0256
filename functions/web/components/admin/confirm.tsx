import type { Child } from "hono/jsx";
import { frameMessages } from "../../messages/admin/frame/index.ts";
import type { Visit } from "../../visit.ts";
import { Problem } from "../field.tsx";
import { FormId } from "../form-id.tsx";

type Props = {
  text: Child;
  /** List of what will be deleted. */
  lost?: Child[];
  /** Where the form posts to, with these fields. */
  action: string;
  fields?: [name: string, value: string][];
  submit: string;
  /** Where it leads without. */
  back: string;
  /** Has to be typed, such as the name of what goes. Its field is named `confirm`. */
  word?: string;
  /** It makes a secret, which its answer shows: posted again it makes no other. */
  makesSecret?: boolean;
  /** More of the form. */
  children?: Child;
  visit: Visit;
};

/** The content of a page that asks before something goes: what will be lost, and a way back. */
export const Confirm = ({
  text,
  lost = [],
  action,
  fields = [],
  submit,
  back,
  word,
  makesSecret = false,
  children,
  visit,
}: Props) => {
  const words = frameMessages(visit.locale);
  return (
    <section class="card confirm">
      <Problem visit={visit} />
      <p>{text}</p>
      {lost.length > 0 && (
        <>
          <h2>{words.lost}</h2>
          <ul class="lost">
            {lost.map((item) => (
              <li>{item}</li>
            ))}
          </ul>
        </>
      )}
      <form method="post" action={action} class="stack" data-turbo={makesSecret ? "false" : undefined}>
        {makesSecret && <FormId />}
        {fields.map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        {children}
        {word !== undefined && (
          <div class="field">
            <label for="confirm">{words.typeToConfirm(word)}</label>
            <input
              id="confirm"
              name="confirm"
              required
              pattern={word.replace(/[^\p{L}\p{N}\s]/gu, "\\$&")}
              autocomplete="off"
            />
          </div>
        )}
        <div class="buttons">
          <button type="submit" class={makesSecret ? "button main" : "button main danger"}>
            {submit}
          </button>
          <a class="button" href={back}>
            {words.cancel}
          </a>
        </div>
      </form>
    </section>
  );
};
