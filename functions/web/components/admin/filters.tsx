import type { Child, PropsWithChildren } from "hono/jsx";
import { limitsOf } from "../../limits-of-fields.ts";
import { useRendering } from "../../rendering.ts";
import { FormContext } from "../form-state.ts";

type Props = PropsWithChildren<{
  submit: Child;
  /** By default a card with the button below the fields. */
  class?: string;
  /** Text of the link that shows everything, if the query has filters. */
  reset?: string;
  /** Parameters of the query that stay. */
  keeps?: string[];
}>;

/** The form that filters the list of its page; its fields have the values of the page's query. */
export const Filters = ({ submit, class: className = "card filter-bar", reset, keeps = [], children }: Props) => {
  const { visit, page } = useRendering();
  const values = Object.fromEntries([...visit.query].filter(([name]) => name !== "cursor"));
  const button = (
    <button type="submit" class={className.includes("card") ? "button main" : "button"}>
      {submit}
    </button>
  );
  return (
    <FormContext.Provider
      value={{ values, refused: undefined, limitsOf: (name) => limitsOf({ body: page?.query, method: "get" }, name) }}
    >
      <form method="get" action={visit.path} class={className}>
        {children}
        {keeps.map((name) => values[name] && <input type="hidden" name={name} value={values[name]} />)}
        {className.includes("card") ? (
          <div class="buttons">
            {button}
            {reset && Object.values(values).some(Boolean) && (
              <a class="link" href={visit.path}>
                {reset}
              </a>
            )}
          </div>
        ) : (
          button
        )}
      </form>
    </FormContext.Provider>
  );
};
