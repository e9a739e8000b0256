import type { Visit } from "../visit.ts";

type Props = {
  /** The field name in the API. */
  name: string;
  /** A distinct id if another form of the page has a field with this name. */
  id?: string;
  label: string;
  hint?: string;
  type?: "text" | "email" | "password" | "url" | "date" | "datetime-local" | "color" | "search";
  value?: string;
  required?: boolean;
  minlength?: number;
  maxlength?: number;
  autocomplete?: string;
  /** A multi-line input. */
  rows?: number;
  placeholder?: string;
  autofocus?: boolean;
  inputmode?: "numeric";
  /** Options of a select, in place of a text input. */
  options?: { value: string; label: string }[];
  visit: Visit;
};

/** A labelled field with its hint and, after a rejection, the entered value and the error. */
export const Field = (props: Props) => {
  const { name, id = name, label, hint, type = "text", value, rows, options, visit, ...more } = props;
  const problem = visit.refused?.details.find(({ field }) => field === name)?.message;
  const typed = type === "password" ? undefined : (visit.refused?.typed.get(name) ?? value);
  const described = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(" ");
  const common = {
    id,
    name,
    "aria-describedby": described || undefined,
    "aria-invalid": problem ? ("true" as const) : undefined,
    ...more,
  };
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
          {label}: {problem}
        </p>
      )}
      {options ? (
        <select {...common}>
          {options.map((option) => (
            <option value={option.value} selected={option.value === (typed ?? "")}>
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

/** Errors of the whole form, shown at its top. */
export const Problem = ({ visit }: { visit: Visit }) =>
  visit.refused ? (
    <div class="notice problem" role="alert">
      {visit.refused.details.length > 0 ? visit.messages.forms.problem : visit.refused.message}
    </div>
  ) : null;

/**
 * The visit for one of several forms on a page: the rejected input belongs to another form unless `isOwn`.
 */
export const forForm = (visit: Visit, isOwn: (typed: URLSearchParams) => boolean): Visit =>
  visit.refused && !isOwn(visit.refused.typed) ? { ...visit, refused: undefined } : visit;
