import { questionTypes } from "../../../../shared/surveys.ts";
import type { SurveysMessages } from "../../messages/admin/index.ts";
import type { DraftQuestion } from "../../pages/admin/surveys/draft.ts";
import type { Visit } from "../../visit.ts";
import { Field } from "../field.tsx";
import { Icon } from "../icon.tsx";

type Props = {
  question: DraftQuestion;
  /** From 0. */
  index: number;
  count: number;
  /** The URL to which its buttons post the form. */
  arrange: string;
  /** The field or button that has the focus. */
  focus: string | null;
  words: SurveysMessages;
  visit: Visit;
};

/** A question in the builder. Fields of other types are hidden by the stylesheet. */
export const QuestionEditor = ({ question, index, count, arrange, focus, words, visit }: Props) => {
  const name = (field: keyof DraftQuestion) => `questions.${index}.${field}`;
  const button = { formaction: arrange, focus };
  return (
    <li class="question-editor" id={`question-${index}`}>
      <fieldset>
        <legend>
          <span class="grip" draggable={true} title={words.drag} aria-hidden="true">
            <Icon name="grip-vertical" />
          </span>
          <span data-number={words.question("#")}>{words.question(index + 1)}</span>
        </legend>
        <div class="editor-buttons">
          <ArrangeButton {...button} does={`up.${index}`} label={words.moveUp} disabled={index === 0}>
            <Icon name="arrow-up" />
          </ArrangeButton>
          <ArrangeButton
            {...button}
            does={`down.${index}`}
            label={words.moveDown}
            disabled={index === count - 1}
          >
            <Icon name="arrow-down" />
          </ArrangeButton>
          <ArrangeButton {...button} does={`remove.${index}`} label={words.remove}>
            <Icon name="trash-2" />
          </ArrangeButton>
        </div>
        <div class="editor-fields">
          <Field
            name={name("text")}
            label={words.text}
            value={question.text}
            required
            maxlength={1000}
            autofocus={focus === name("text")}
            visit={visit}
          />
          <Field
            name={name("type")}
            label={words.type}
            value={question.type}
            options={questionTypes.map((type) => ({ value: type, label: words.types[type] }))}
            visit={visit}
          />
        </div>
        <div class="of-rating">
          <Field
            name={name("scale")}
            label={words.scale}
            value={question.scale}
            options={scales.map((scale) => ({ value: scale, label: scale }))}
            visit={visit}
          />
        </div>
        <div class="of-choice stack">
          <Field
            name={name("options")}
            label={words.options}
            hint={words.optionsHint}
            value={question.options}
            rows={Math.min(12, Math.max(4, question.options.split("\n").length + 1))}
            visit={ofOptions(visit, name("options"), words)}
          />
          <Check name={name("multiple")} label={words.multiple} checked={question.multiple === "true"} />
        </div>
        <Check name={name("required")} label={words.required} checked={question.required === "true"} />
      </fieldset>
    </li>
  );
};

const scales = ["2", "3", "4", "5", "6", "7", "8", "9", "10"];

/** Moves the errors of single options to the field that contains all options. */
function ofOptions(visit: Visit, field: string, words: SurveysMessages): Visit {
  if (!visit.refused) return visit;
  const lines = visit.refused.details.flatMap((detail) => {
    const line = detail.field.startsWith(`${field}.`)
      ? Number(detail.field.slice(field.length + 1))
      : Number.NaN;
    return Number.isInteger(line) ? [`${words.optionLine(line + 1)}: ${detail.message}`] : [];
  });
  const own = visit.refused.details.filter((detail) => detail.field === field).map(({ message }) => message);
  const message = [...own, ...lines].join("; ");
  return { ...visit, refused: { ...visit.refused, details: message ? [{ field, message }] : [] } };
}

type ArrangeButtonProps = {
  does: string;
  label: string;
  formaction: string;
  focus: string | null;
  disabled?: boolean;
  children: unknown;
};

const ArrangeButton = ({ does, label, formaction, focus, disabled, children }: ArrangeButtonProps) => (
  <button
    type="submit"
    class="button small"
    name="do"
    value={does}
    formaction={formaction}
    formnovalidate
    data-turbo-frame="questions"
    aria-label={label}
    title={label}
    disabled={disabled}
    autofocus={focus === does}
  >
    {children}
  </button>
);

/** A checkbox that is sent when it is not checked too. */
export const Check = ({ name, label, checked }: { name: string; label: string; checked: boolean }) => (
  <label class="check">
    <input type="hidden" name={name} value="false" />
    <input type="checkbox" name={name} value="true" checked={checked} />
    <span>{label}</span>
  </label>
);
