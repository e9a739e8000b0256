import { emailAddress } from "../../../shared/fields.ts";
import { answerText } from "../../../shared/survey-responses.ts";
import type { Question } from "../../../shared/surveys.ts";
import { maxLengthOf } from "../limits-of-fields.ts";
import { fieldName } from "../pages/survey-form.ts";
import { useVisit } from "../rendering.ts";
import { Icon } from "./icon.tsx";

type Props = {
  question: Question;
  number: number;
  /** The entered values of a rejected form. */
  typed: URLSearchParams;
  problem: string | undefined;
};

/** A survey question with its input, and the error of the answer. */
export const QuestionField = (props: Props) => {
  const { messages } = useVisit();
  const { question, number, problem } = props;
  const { id, text, required } = question;
  const label = (
    <>
      <span class="question-number" aria-hidden="true">
        {number}
      </span>
      <span dir="auto">
        {text}
        {required && (
          <>
            {" "}
            <span class="required">{messages.surveys.required}</span>
          </>
        )}
      </span>
    </>
  );
  const complaint = problem && (
    <p class="problem" id={`problem-${id}`}>
      {problem}
    </p>
  );
  const classes = problem ? "question invalid" : "question";
  const Input = inputs[question.type];
  if (Input === TextInput)
    return (
      <li class={classes} id={`question-${id}`}>
        <label class="question-text" for={`answer-${id}`}>
          {label}
        </label>
        {complaint}
        <TextInput {...props} />
      </li>
    );
  return (
    <li class={classes} id={`question-${id}`}>
      <fieldset aria-describedby={problem ? `problem-${id}` : undefined}>
        <legend class="question-text">{label}</legend>
        {complaint}
        <Input {...props} />
        {!required && !question.multiple && (
          <button type="button" class="clear" hidden data-clear={fieldName(question)}>
            {messages.surveys.clear}
          </button>
        )}
      </fieldset>
    </li>
  );
};

const TextInput = ({ question, typed, problem }: Props) => {
  const name = fieldName(question);
  const common = {
    id: `answer-${question.id}`,
    name,
    required: question.required,
    "aria-invalid": problem ? ("true" as const) : undefined,
    "aria-describedby": problem ? `problem-${question.id}` : undefined,
  };
  return (
    <div class="field">
      {question.type === "email" ? (
        <input
          type="email"
          autocomplete="email"
          maxlength={maxLengthOf(emailAddress)}
          value={typed.get(name) ?? ""}
          {...common}
        />
      ) : (
        <textarea rows={4} dir="auto" maxlength={maxLengthOf(answerText)} {...common}>
          {typed.get(name) ?? ""}
        </textarea>
      )}
    </div>
  );
};

const Options = ({ question, typed }: Props) => {
  const { messages } = useVisit();
  const name = fieldName(question);
  const chosen = typed.getAll(name);
  return (
    <>
      {question.multiple && <p class="quiet">{messages.surveys.several}</p>}
      <div class="options">
        {question.options?.map(({ id, text }) => (
          <label class="option">
            <input
              type={question.multiple ? "checkbox" : "radio"}
              name={name}
              value={id}
              checked={chosen.includes(id)}
              required={question.required && !question.multiple}
            />
            <span dir="auto">{text}</span>
          </label>
        ))}
      </div>
    </>
  );
};

const maxStars = 5;

/** A row of numbers: 0 to 10, or 1 to the scale, as stars if there are few. */
const Scale = ({ question, typed }: Props) => {
  const { surveys } = useVisit().messages;
  const isNps = question.type === "nps";
  const highest = isNps ? 10 : (question.scale ?? 5);
  const isStars = !isNps && highest <= maxStars;
  const numbers = Array.from({ length: highest + (isNps ? 1 : 0) }, (_, at) => at + (isNps ? 0 : 1));
  const name = fieldName(question);
  return (
    <div class={isStars ? "scale-box stars" : "scale-box"}>
      <div class={`scale of-${numbers.length}`}>
        {numbers.map((n) => (
          <label>
            <input
              type="radio"
              name={name}
              value={n}
              checked={typed.get(name) === String(n)}
              required={question.required}
            />
            {isStars ? (
              <>
                <Icon name="star" />
                <span class="unseen">{surveys.stars(n, highest)}</span>
              </>
            ) : (
              <span>{n}</span>
            )}
          </label>
        ))}
      </div>
      {!isStars && (
        <p class="scale-ends quiet">
          <span>{isNps ? surveys.leastLikely : surveys.lowest}</span>
          <span>{isNps ? surveys.mostLikely : surveys.highest}</span>
        </p>
      )}
    </div>
  );
};

const inputs = {
  nps: Scale,
  rating: Scale,
  multiple_choice: Options,
  text: TextInput,
  email: TextInput,
} satisfies Record<Question["type"], unknown>;
