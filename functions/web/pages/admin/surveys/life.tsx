import { notFound } from "../../../../_shared/http/api-error.ts";
import { requireSurvey, type SurveyAction, surveyDetail } from "../../../../_shared/statements/surveys.ts";
import { surveys } from "../../../../endpoints/surveys.ts";
import { Confirm } from "../../../components/admin/confirm.tsx";
import { type SurveysMessages, surveysMessages } from "../../../messages/admin/index.ts";
import type { Page } from "../../../page.tsx";
import { endpointOf } from "../../../page.tsx";
import type { Visit } from "../../../visit.ts";
import { adminAction, adminPage } from "../admin-page.tsx";
import { surveyResults } from "./results.tsx";
import { type Survey, surveyPath, trailOf } from "./shared.tsx";

const changing = (action: SurveyAction, said: keyof SurveysMessages["done"], again: Page = surveyResults) =>
  adminAction(endpointOf(surveys, "post", `/surveys/:id/${action}`), {
    area: "surveys",
    path: `/:id/${action}`,
    formPage: again,
    doneMessage: said,
    redirectTo: (_response, { visit, params }) => surveyPath(visit, params.id ?? ""),
  });

/** Asks before something goes. */
const asking = (
  path: string,
  ask: (
    survey: Survey,
    words: SurveysMessages,
    visit: Visit,
  ) => Omit<Parameters<typeof Confirm>[0], "visit" | "back"> & {
    title: string;
  },
) =>
  adminPage({
    area: "surveys",
    path: `/:id/${path}`,
    words: surveysMessages,
    row: ({ params: { id } }) => ({ resource: "surveys", id }),
    call: ({ params: { id } }) => [requireSurvey(id, "surveys:read"), surveyDetail(id, [])],
    view: ([, [detail]], { visit, words }) => {
      if (!detail) throw notFound("survey");
      const survey: Survey = JSON.parse(detail.data);
      const { title, ...confirm } = ask(survey, words, visit);
      return {
        title,
        trail: trailOf(visit, survey),
        content: <Confirm {...confirm} back={surveyPath(visit, survey.id)} visit={visit} />,
      };
    },
  });

const archivePage = asking("archive", ({ id }, words, visit) => ({
  title: words.archiveTitle,
  text: words.archiveText,
  action: surveyPath(visit, id, "/archive"),
  submit: words.archive,
}));

const deletePage = asking("delete", ({ id, title, response_count }, words, visit) => ({
  title: words.deleteTitle,
  text: words.deleteText,
  lost: [title, ...(response_count > 0 ? [words.responseCount(response_count), words.deleteAnswers] : [])],
  // Responses that came after this page was made are not agreed to be lost.
  action: `${surveyPath(visit, id, "/delete")}${response_count > 0 ? "?force=true" : ""}`,
  fields: [["_method", "delete"]],
  submit: words.delete,
}));

export const surveyLife: Page[] = [
  changing("publish", "published"),
  changing("pause", "paused"),
  changing("resume", "resumed"),
  archivePage,
  changing("archive", "archived", archivePage),
  adminAction(endpointOf(surveys, "post", "/surveys/:id/versions"), {
    area: "surveys",
    path: "/:id/versions",
    formPage: surveyResults,
    doneMessage: "versioned",
    redirectTo: ({ json }, { visit }) => surveyPath(visit, JSON.parse(json).data.id),
  }),
  deletePage,
  adminAction(endpointOf(surveys, "delete", "/surveys/:id"), {
    area: "surveys",
    path: "/:id/delete",
    formPage: deletePage,
    doneMessage: "deleted",
  }),
];
