import type { Page } from "../../../page.tsx";
import { arrangeNew, arrangeSurvey, editSurvey, newSurvey } from "./builder.tsx";
import { archivePage, deletePage } from "./life.tsx";
import { surveyList } from "./list.tsx";
import { oneResponse, responsesCsv, surveyResponses } from "./responses.tsx";
import { surveyResults } from "./results.tsx";
import { shareSurvey, surveyQr } from "./share.tsx";
import { surveyTexts } from "./texts.tsx";

/** Routes match in order: /new precedes /:id. */
export const surveyPages: Page[] = [
  surveyList,
  newSurvey,
  arrangeNew,
  surveyResults,
  editSurvey,
  arrangeSurvey,
  surveyTexts,
  surveyResponses,
  responsesCsv,
  oneResponse,
  shareSurvey,
  surveyQr,
  archivePage,
  deletePage,
];
