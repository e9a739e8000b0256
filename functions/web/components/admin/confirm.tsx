import type { Child } from "hono/jsx";
import type { Route } from "../../../_shared/http/endpoint.ts";
import { useVisit } from "../../rendering.ts";
import type { Visit } from "../../visit.ts";
import { Button } from "../button.tsx";
import { Problem } from "../field.tsx";
import { Form } from "../form.tsx";
import { FormId } from "../form-id.tsx";

export type ConfirmProps = {
  text: Child;
  /** List of what will be deleted. */
  lost?: Child[];
  /** The endpoint of the page's action; without it the only one. */
  of?: Route;
  /** Where the form is sent to, if that is not the action's path with the parameters of this page. */
  to?: string;
  /** Hidden fields. */
  hidden?: Record<string, string | readonly string[]>;
  /** In place of an action of the page: where the form is sent to, with `fields` as hidden inputs. */
  action?: string;
  fields?: [name: string, value: string][];
  submit: string;
  /** URL of the link that cancels. */
  back: string;
  /** Text to type as confirmation, such as the name of the deleted item. The field is named `confirm`. */
  word?: string;
  /** The action creates a secret that its response shows. A repeated form creates no second one. */
  makesSecret?: boolean;
  /** Additional fields. */
  children?: Child;
  visit?: Visit;
};

/** The content of a page that asks for confirmation: a list of the lost data, and a link that cancels. */
export const Confirm = ({
  text,
  lost = [],
  of,
  to,
  hidden,
  action,
  fields = [],
  submit,
  back,
  word,
  makesSecret = false,
  children,
  visit: given,
}: ConfirmProps) => {
  const own = useVisit();
  const visit = given ?? own;
  const words = visit.messages.admin.frame;
  const typed = word !== undefined && (
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
  );
  return (
    <section class="card confirm">
      <Problem />
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
      {action === undefined ? (
        <Form of={of} to={to} hidden={hidden} class="stack" hasProblem={false} submit={submit} isDanger back={back}>
          {children}
          {typed}
        </Form>
      ) : (
        <form method="post" action={action} class="stack" data-turbo={makesSecret ? "false" : undefined}>
          {makesSecret && <FormId />}
          {fields.map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          {children}
          {typed}
          <div class="buttons">
            <button type="submit" class={makesSecret ? "button main" : "button main danger"}>
              {submit}
            </button>
            <Button href={back} label={words.cancel} />
          </div>
        </form>
      )}
    </section>
  );
};
