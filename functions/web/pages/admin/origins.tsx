import { originsAnswer } from "../../../../shared/admin.ts";
import { allowedOrigins } from "../../../_shared/statements/admin.ts";
import { admin } from "../../../endpoints/admin.ts";
import { Field, Problem } from "../../components/field.tsx";
import { originsMessages } from "../../messages/admin/index.ts";
import { endpointOf } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import type { Visit } from "../../visit.ts";
import { adminAction, adminPage } from "./admin-page.tsx";

const area = "origins";
const { origins: originList } = originsAnswer.shape.data.shape;

const origins = adminPage({
  area,
  words: originsMessages,
  call: () => [allowedOrigins(null)],
  view: ([[kept]], { visit, words }) => {
    const lines = originList.parse(JSON.parse(kept?.data ?? "{}").origins);
    return {
      title: words.title,
      content: (
        <>
          <p class="quiet lead">{words.text}</p>
          <form method="post" action={adminPath(visit, "/settings/origins")} class="card settings-form">
            <Problem visit={visit} />
            <input type="hidden" name="_method" value="put" />
            <Field
              name="origins"
              label={words.origins}
              hint={words.hint}
              rows={Math.max(6, lines.length + 2)}
              value={lines.join("\n")}
              visit={withLine(visit, words.line)}
            />
            <p class="quiet small">{words.lost}</p>
            <div class="buttons">
              <button type="submit" class="button main">
                {words.save}
              </button>
            </div>
          </form>
        </>
      ),
    };
  },
});

const linesOf = (form: URLSearchParams) =>
  (form.get("origins") ?? "").split(/\r\n|\r|\n/).map((line) => line.trim());

/** Adds line numbers to errors: the API counts origins, but the page's only field may contain empty lines. */
function withLine(visit: Visit, line: (n: number, problem: string) => string): Visit {
  const { refused } = visit;
  if (!refused) return visit;
  const filled = linesOf(refused.typed).flatMap((text, index) => (text ? [index + 1] : []));
  const details = refused.details.map(({ field, message }) => {
    const index = /^origins\.(\d+)$/.exec(field)?.[1];
    return index === undefined
      ? { field, message }
      : { field: "origins", message: line(filled[Number(index)] ?? 0, message) };
  });
  return { ...visit, refused: { ...refused, details } };
}

export const originPages = [
  origins,
  adminAction(endpointOf(admin, "put", "/admin/origins"), {
    area,
    formPage: origins,
    readForm: (form) => ({ origins: linesOf(form).filter((line) => line !== "") }),
    doneMessage: "saved",
  }),
];
