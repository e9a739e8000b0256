import type { Child, PropsWithChildren } from "hono/jsx";
import type { Route } from "../../_shared/http/endpoint.ts";
import { limitsOf } from "../limits-of-fields.ts";
import { filled, isOfOrganization, personForm } from "../paths.ts";
import { useRendering } from "../rendering.ts";
import { Problem } from "./field.tsx";
import { FormId } from "./form-id.tsx";
import { FormContext } from "./form-state.ts";

type Props = PropsWithChildren<{
  /** The endpoint of one of the page's actions, which says what fields may contain; without it the page's only action. */
  of?: Route | undefined;
  /** Where it is sent to, if that is not the action's path with the parameters of this page. */
  to?: string | undefined;
  /** Values of the fields by their names, such as the row to change. */
  values?: object;
  /** Hidden fields. */
  hidden?: Record<string, string>;
  /** The next page, in place of the action's. */
  returnTo?: string;
  /** Without it a form with `submit` is a card. */
  class?: string;
  id?: string;
  island?: string;
  /** Posted again it creates no second row. Without it that holds for forms that create a secret. */
  isOnce?: boolean;
  /** False if the page shows the problem elsewhere. */
  hasProblem?: boolean;
  /** Text of its button; without it the children have one. */
  submit?: Child;
  /** For what deletes; a secret that is made is no danger. */
  isDanger?: boolean;
  /** Leads away from the form: a path, or the attributes of a link. */
  back?: string | { href: string; target?: string | undefined } | undefined;
}>;

/** A form with what every form has: hidden fields, the problem of a rejected input, buttons. */
export const Form = (props: Props) => {
  const { visit, frame, page, params } = useRendering();
  const { of, hidden = {}, values = {}, hasProblem = true } = props;
  const { submit, back, children, returnTo, id, island } = props;
  const className = props.class ?? (submit === undefined ? undefined : "card settings-form");
  const actions = page?.actions ?? [];
  const action = of
    ? actions.find(({ endpoint }) => endpoint === of)
    : actions.length === 1
      ? actions[0]
      : undefined;
  const route = of ?? action;
  if (!route || (!action && props.to === undefined)) throw new Error(`${page?.path} has no such action.`);
  const isOwn = !visit.refused?.action || visit.refused.action === (action ?? visit.refused.action);
  const refused = isOwn ? visit.refused : undefined;
  const base = action?.ofOrganization ? visit.base : "";
  const to = props.to ?? base + filled(action?.path ?? "", params);
  const fields = {
    ...(route.method !== "post" && { _method: route.method }),
    ...(isOfOrganization(action?.endpoint ?? route) && { organization_id: frame.organization?.id ?? "" }),
    ...hidden,
    ...(returnTo !== undefined && { return_to: returnTo }),
  };
  const made = personForm(visit, to);
  return (
    <FormContext.Provider value={{ values, refused, limitsOf: (name) => limitsOf(route, name) }}>
      <form
        {...made}
        class={className}
        id={id}
        data-island={island}
        data-turbo={route.showsSecret ? "false" : made["data-turbo"]}
      >
        {hasProblem && <Problem visit={{ ...visit, refused }} />}
        {(props.isOnce ?? route.showsSecret) && <FormId />}
        {Object.entries(fields).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        {children}
        {submit !== undefined && (
          <div class="buttons">
            <button
              type="submit"
              class={props.isDanger && !route.showsSecret ? "button main danger" : "button main"}
            >
              {submit}
            </button>
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
