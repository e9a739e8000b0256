import { useVisit } from "../../rendering.ts";
import { useForm, valueIn } from "../form-state.ts";

type Choice = { value: string; text?: string };

type Props = {
  /** Field name of an array in the API. */
  name: string;
  legend: string;
  hint?: string;
  choices: Choice[];
  /** Initially selected values; by default those of the form's `values`. */
  chosen?: readonly string[] | undefined;
};

/** Checkboxes for an array; without a selection it is empty. */
export const Choices = ({ name, legend, hint, choices, ...props }: Props) => {
  const own = useVisit();
  const { refused, values } = useForm(own);
  const chosen = props.chosen ?? (valueIn(values, name) as readonly string[] | undefined) ?? [];
  const problem = refused?.details.find(({ field }) => field === name || field.startsWith(`${name}.`))?.message;
  const typed = refused?.typed.getAll(name) ?? chosen;
  const described = [hint && `${name}-hint`, problem && `${name}-problem`].filter(Boolean).join(" ");
  return (
    <fieldset class="choices" aria-describedby={described || undefined}>
      <legend>{legend}</legend>
      {hint && (
        <p class="hint" id={`${name}-hint`}>
          {hint}
        </p>
      )}
      {problem && (
        <p class="problem" id={`${name}-problem`}>
          {`${legend}${own.messages.words.colon}${problem}`}
        </p>
      )}
      <input type="hidden" name={name} value="" />
      {choices.map(({ value, text }) => (
        <label class="check">
          <input type="checkbox" name={name} value={value} checked={typed.includes(value)} />
          <span>
            <code>{value}</code>
            {text && <span class="quiet"> {text}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  );
};
