import type { Child, PropsWithChildren } from "hono/jsx";
import type { Route } from "../../_shared/http/endpoint.ts";
import { limitsOf } from "../limits-of-fields.ts";
import { filled, personForm } from "../paths.ts";
import { useRendering } from "../rendering.ts";
import { Problem } from "./field.tsx";
import { FormId } from "./form-id.tsx";
import { FormContext } from "./form-state.ts";

type Props = PropsWithChildren<{
  /** One of the page's actions or its endpoint, whose schema limits the fields; by default the page's only action. */
  of?: Route | undefined;
  /** Where it is sent to, if that is not the action's path with the parameters of this page. */
  to?: string | undefined;
  /** Values of the fields by their names, such as the row to change. */
  values?: object;
  /** Hidden fields. */
  hidden?: Record<string, string | readonly string[] | undefined> | undefined;
  /** The next page, in place of the action's. */
  returnTo?: string;
  /** Without it a form with `submit` is a card. In a "stack" without `back` the button is as wide as the fields. */
  class?: string;
  id?: string;
  island?: string;
  "aria-label"?: string;
  "data-turbo-action"?: "replace";
  /** A repeated submission creates no second row. By default, this applies only to forms that create a secret. */
  isOnce?: boolean;
  /** If several forms share an action: whether the input came from this form. */
  isOwn?: (typed: URLSearchParams) => boolean;
  /** False if the page shows the problem elsewhere. */
  hasProblem?: boolean;
  /** False if the browser loads the next page, such as after a sign-in. */
  hasTurbo?: boolean;
  /** Whether one of its fields is a file. */
  hasFile?: boolean;
  /** Text of its button; without it the children have one. */
  submit?: Child;
  /** Styles the button as a warning: for deletions, but not for creating a secret. */
  isDanger?: boolean;
  /** Leads away from the form: a path, or the attributes of a link. */
  back?: string | { href: string; target?: string | undefined } | undefined;
}>;

/** A form with what every form has: hidden fields, the problem of a rejected input, buttons. */
export const Form = (props: Props) => {
  const { visit, page, params } = useRendering();
  const { of, hidden = {}, values = {}, hasProblem = true, hasTurbo = true } = props;
  const { submit, back, children, returnTo, id, island } = props;
  const className = props.class ?? (submit === undefined ? undefined : "card settings-form");
  const actions = page?.actions ?? [];
  const action = of
    ? actions.find((one) => one.endpoint === of || (one.path === of.path && one.method === of.method))
    : actions.length === 1
      ? actions[0]
      : undefined;
  const route = of ?? action;
  if (!route || (!action && props.to === undefined)) throw new Error(`${page?.path} has no such action.`);
  const isOwn =
    visit.refused &&
    visit.refused.action === (action ?? visit.refused.action) &&
    (props.isOwn?.(visit.refused.typed) ?? true);
  const refused = isOwn ? visit.refused : undefined;
  const base = action?.ofOrganization ? visit.base : "";
  // A refused form at a path without the organization that it named.
  const named = action?.ofOrganization && base === "" ? visit.query.get("organization") : null;
  const to =
    props.to ?? base + filled(action?.path ?? "", params) + (named ? `?organization=${encodeURIComponent(named)}` : "");
  const fields = {
    ...(route.method !== "post" && { _method: route.method }),
    ...hidden,
    ...(returnTo !== undefined && { return_to: returnTo }),
  };
  const made = personForm(action?.isEmbeddable === false ? { ...visit, isEmbedded: false } : visit, to);
  const button = submit !== undefined && (
    <button type="submit" class={props.isDanger && !route.showsSecret ? "button main danger" : "button main"}>
      {submit}
    </button>
  );
  return (
    <FormContext.Provider
      value={{ values, refused, limitsOf: (name) => limitsOf({ ...route, body: route.body ?? route.query }, name) }}
    >
      <form
        enctype={props.hasFile ? "multipart/form-data" : undefined}
        {...made}
        class={className}
        id={id}
        aria-label={props["aria-label"]}
        data-turbo-action={props["data-turbo-action"]}
        data-island={island}
        data-turbo={route.showsSecret || props.hasFile || !hasTurbo ? "false" : made["data-turbo"]}
      >
        {hasProblem && <Problem visit={{ ...visit, refused }} />}
        {(props.isOnce ?? route.showsSecret) && <FormId />}
        {Object.entries(fields).flatMap(([name, values]) =>
          [values].flat().map((value) => <input type="hidden" name={name} value={value} />),
        )}
        {children}
        {back === undefined && className === "stack"
          ? button
          : button && (
              <div class="buttons">
                {button}
                {back !== undefined && (
                  <a class="button" {...(typeof back === "string" ? { href: back } : back)}>
                    {visit.messages.admin.frame.cancel}
                  </a>
                )}
              </div>
            )}
      </form>
    </FormContext.Provider>
  );
};
