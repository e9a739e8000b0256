import { createContext, useContext } from "hono/jsx";
import type { Limits } from "../limits-of-fields.ts";
import type { RefusedForm, Visit } from "../visit.ts";

type FormState = {
  /** Values of the fields before anything is typed. */
  values: object;
  /** Set if this form was rejected. */
  refused: RefusedForm | undefined;
  limitsOf: (name: string) => Limits;
};

export const FormContext = createContext<FormState | undefined>(undefined);

/** The form around a field; a field outside of one has no limits. */
export function useForm(visit: Visit): FormState {
  return useContext(FormContext) ?? { values: {}, refused: visit.refused, limitsOf: () => ({}) };
}

/** The value of a field; names of nested fields have dots, which a form that is shown again has in its names. */
export function valueIn(values: object, name: string): unknown {
  if (Object.hasOwn(values, name)) return values[name as keyof typeof values];
  return name.split(".").reduce<unknown>((value, part) => (value as Record<string, unknown> | null)?.[part], values);
}
