import type { Child } from "hono/jsx";
import type { Route } from "../../../_shared/http/endpoint.ts";
import { useVisit } from "../../rendering.ts";
import { Problem } from "../field.tsx";
import { Form } from "../form.tsx";

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
  submit: string;
  /** URL of the link that cancels. */
  back: string;
  /** Additional fields. */
  children?: Child;
};

/** The content of a page that asks for confirmation: a list of the lost data, and a link that cancels. */
export const Confirm = ({ text, lost = [], of, to, hidden, submit, back, children }: ConfirmProps) => {
  const words = useVisit().messages.admin.frame;
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
      <Form of={of} to={to} hidden={hidden} class="stack" hasProblem={false} submit={submit} isDanger back={back}>
        {children}
      </Form>
    </section>
  );
};
