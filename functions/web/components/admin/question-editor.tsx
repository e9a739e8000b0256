import type { JSX } from "hono/jsx/jsx-runtime";
import { questionTypes } from "../../../../shared/surveys.ts";
import type { DraftQuestion } from "../../pages/admin/surveys/draft.ts";
import { filled } from "../../paths.ts";
import { useRendering, useWords } from "../../rendering.ts";
import { Button } from "../button.tsx";
import { Field } from "../field.tsx";
import { Icon } from "../icon.tsx";
import { CheckField } from "./check.tsx";

type Props = {
  question: DraftQuestion;
  /** From 0. */
  index: number;
  count: number;
  /** The field or button that has the focus. */
  focus: string | null;
};

const scales = ["2", "3", "4", "5", "6", "7", "8", "9", "10"];

/** A question in the form of the builder. Fields of other types are hidden by the stylesheet. */
export const QuestionEditor = ({ question, index, count, focus }: Props) => {
  const words = useWords("surveys");
  const name = (field: keyof DraftQuestion) => `questions.${index}.${field}`;
  const buttons = [
    { does: `up.${index}`, label: words.moveUp, icon: "arrow-up", disabled: index === 0 },
    { does: `down.${index}`, label: words.moveDown, icon: "arrow-down", disabled: index === count - 1 },
    { does: `remove.${index}`, label: words.remove, icon: "trash-2" },
  ] as const;
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
          {buttons.map(({ label, icon, ...button }) => (
            <ArrangeButton {...button} aria-label={label} title={label} autofocus={focus === button.does}>
              <Icon name={icon} />
            </ArrangeButton>
          ))}
        </div>
        <div class="editor-fields">
          <Field name={name("text")} label={words.text} autofocus={focus === name("text")} />
          <Field
            name={name("type")}
            label={words.type}
            options={questionTypes.map((type) => ({ value: type, label: words.types[type] }))}
          />
        </div>
        <div class="of-rating">
          <Field
            name={name("scale")}
            label={words.scale}
            options={scales.map((scale) => ({ value: scale, label: scale }))}
          />
        </div>
        <div class="of-choice stack">
          <Field
            name={name("options")}
            label={words.options}
            hint={words.optionsHint}
            rows={Math.min(12, Math.max(4, question.options.split("\n").length + 1))}
          />
          <CheckField name={name("multiple")} label={words.multiple} checked={question.multiple === "true"} />
        </div>
        <Field name={name("required")} label={words.required} />
      </fieldset>
    </li>
  );
};

type ButtonProps = JSX.IntrinsicElements["button"] & { does: string; frame?: string };

/** Sends the form of the builder for a change of one of its frames; nothing is saved. */
export const ArrangeButton = ({ does, frame = "questions", children, ...more }: ButtonProps) => {
  const { visit, page, params } = useRendering();
  return (
    <Button
      kind="small"
      name="do"
      value={does}
      formaction={visit.base + filled(page?.path ?? "", params)}
      formnovalidate
      data-turbo-frame={frame}
      {...more}
      label={children}
    />
  );
};
