import type { Page } from "../../../page.tsx";
import { arrangeNew, arrangeSurvey, createSurvey, editSurvey, newSurvey, saveSurvey } from "./builder.tsx";
import { surveyLife } from "./life.tsx";
import { surveyList } from "./list.tsx";
import { oneResponse, responsesCsv, surveyResponses } from "./responses.tsx";
import { surveyResults } from "./results.tsx";
import { mailSurveyForm, shareSurvey, surveyQr } from "./share.tsx";
import { surveyTexts } from "./texts.tsx";

/** Routes match in order: /new precedes /:id. */
export const surveyPages: Page[] = [
  surveyList,
  createSurvey,
  newSurvey,
  arrangeNew,
  surveyResults,
  editSurvey,
  saveSurvey,
  arrangeSurvey,
  surveyTexts,
  surveyResponses,
  responsesCsv,
  oneResponse,
  shareSurvey,
  surveyQr,
  mailSurveyForm,
  ...surveyLife,
];
