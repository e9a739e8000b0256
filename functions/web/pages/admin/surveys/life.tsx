import type { SurveyDetail } from "../../../../_shared/statements/surveys.ts";
import { surveys } from "../../../../endpoints/surveys.ts";
import type { AreaTexts } from "../../../../words/index.ts";
import { Confirm } from "../../../components/admin/confirm.tsx";
import { endpointOf } from "../../../page.tsx";
import { type AdminAction, adminPage } from "../admin-page.tsx";
import { ofSurvey, readSurvey, surveyPath, trailOf } from "./shared.tsx";

type Asked = Pick<Parameters<typeof Confirm>[0], "text" | "lost" | "submit"> & { title: string; query?: string };

/** Asks for confirmation before something is deleted. */
const asking = (path: string, action: AdminAction, ask: (survey: SurveyDetail, words: AreaTexts["surveys"]) => Asked) =>
  adminPage({
    ...ofSurvey(path),
    read: ({ params: { id } }) => readSurvey(id),
    view: ([, survey], { visit, words }) => {
      const { title, query = "", ...confirm } = ask(survey, words);
      return {
        title,
        trail: trailOf(visit, survey),
        content: (
          <Confirm {...confirm} to={surveyPath(visit, survey.id, path + query)} back={surveyPath(visit, survey.id)} />
        ),
      };
    },
    actions: [action],
  });

export const archivePage = asking(
  "/archive",
  { of: endpointOf(surveys, "post", "/surveys/:id/archive"), done: "archived", next: "/:id" },
  (_survey, words) => ({ title: words.archiveTitle, text: words.archiveText, submit: words.archive }),
);

export const deletePage = asking(
  "/delete",
  { of: endpointOf(surveys, "delete", "/surveys/:id"), done: "deleted" },
  ({ title, response_count }, words) => ({
    title: words.deleteTitle,
    text: words.deleteText,
    lost: [title, ...(response_count > 0 ? [words.responseCount(response_count), words.deleteAnswers] : [])],
    // Responses submitted after this page was rendered are not covered by the confirmation.
    query: response_count > 0 ? "?force=true" : "",
    submit: words.delete,
  }),
);
