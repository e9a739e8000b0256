import type { Question } from "../../../../shared/surveys.ts";
import { QuestionField } from "../question-field.tsx";

type Props = { title: string; description: string; questions: Question[]; empty: string };

/** A survey as respondents see it, without a submit button. */
export const SurveyPreview = ({ title, description, questions, empty }: Props) => (
  <div class="survey-preview">
    {title && <h3>{title}</h3>}
    {description && <p class="prose">{description}</p>}
    {questions.length === 0 ? (
      <p class="quiet">{empty}</p>
    ) : (
      <ol class="questions">
        {questions.map((question, index) => (
          <QuestionField
            question={{ ...question, id: `preview-${question.order}` }}
            number={index + 1}
            typed={new URLSearchParams()}
            problem={undefined}
          />
        ))}
      </ol>
    )}
  </div>
);
