import { useVisit } from "../rendering.ts";
import type { Visit } from "../visit.ts";
import { CheckField } from "./admin/check.tsx";
import { useForm, valueIn } from "./form-state.ts";

type Option = { value: string; label: string };

type Props = {
  /** The field name in the API. */
  name: string;
  /** A distinct id if another form of the page has a field with this name. */
  id?: string;
  label: string;
  hint?: string | undefined;
  /** By default that of the schema. */
  type?: "text" | "email" | "password" | "url" | "date" | "datetime-local" | "color" | "search";
  /** By default that of the form's `values`. */
  value?: string | undefined;
  // By default as the schema says.
  required?: boolean;
  minlength?: number;
  maxlength?: number;
  autocomplete?: string;
  /** A multi-line input. */
  rows?: number;
  placeholder?: string;
  autofocus?: boolean;
  inputmode?: "numeric";
  /** Options of a select, in place of a text input; an object has their labels by value. */
  options?: Option[] | Record<string, string>;
  /** The field is a file. */
  file?: { types: string[]; maxBytes: number; tooLarge: string };
  visit?: Visit;
};

/** A labelled field with its hint and, after a rejection, the entered value and the error. A boolean is a checkbox. */
export const Field = (props: Props) => {
  const given = useVisit();
  const { name, id = name, label, hint, rows, options: choices, file, visit = given, value, ...more } = props;
  const form = useForm(visit);
  const { type: ownType, ...limits } = form.limitsOf(name);
  const before = value ?? textOf(valueIn(form.values, name));
  if (ownType === "checkbox" && !choices)
    return <CheckField name={name} label={label} hint={hint} checked={before === "true"} />;
  const { type = ownType ?? "text", ...attributes } = more;
  const problem = form.refused?.details.find(({ field }) => field === name)?.message;
  const typed = type === "password" ? undefined : (form.refused?.typed.get(name) ?? before);
  const described = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(" ");
  const common = {
    id,
    name,
    "aria-describedby": described || undefined,
    "aria-invalid": problem ? ("true" as const) : undefined,
    ...(!choices && type !== "color" && limits),
    ...(!choices && type === "text" && { dir: "auto" as const }),
    ...attributes,
    ...(file && {
      type: "file",
      required: true,
      accept: file.types.join(","),
      "data-island": "file-size",
      "data-max": String(file.maxBytes),
      "data-too-large": file.tooLarge,
    }),
  };
  const options = choices && !Array.isArray(choices) ? optionsOf(choices) : choices;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {problem && (
        <p class="problem" id={`${id}-problem`}>
          {`${label}${given.messages.words.colon}${problem}`}
        </p>
      )}
      {options ? (
        <select {...common}>
          {options.map((option) => (
            <option dir="auto" value={option.value} selected={option.value === (typed ?? "")}>
              {option.label}
            </option>
          ))}
        </select>
      ) : rows ? (
        <textarea rows={rows} {...common}>
          {typed}
        </textarea>
      ) : (
        <input type={type} value={typed} {...common} />
      )}
    </div>
  );
};

const optionsOf = (labels: Record<string, string>): Option[] =>
  Object.entries(labels).map(([value, label]) => ({ value, label }));

const textOf = (value: unknown) => (value === undefined ? undefined : value === null ? "" : String(value));

/** Errors of the whole form, shown at its top. */
export const Problem = ({ visit: given }: { visit?: Visit }) => {
  const own = useVisit();
  const { refused, messages } = given ?? own;
  return refused ? (
    <div class="notice problem" role="alert">
      {refused.details.length > 0 ? messages.forms.problem : refused.message}
    </div>
  ) : null;
};
