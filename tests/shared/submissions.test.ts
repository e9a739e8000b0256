import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { submissionStatuses } from "../../shared/submissions.ts";
import { surveyStatus } from "../../shared/surveys.ts";

test("each status has its color in the style sheets", () => {
  const css = ["pieces.css", "admin/surveys.css"].map((path) =>
    readFileSync(new URL(`../../functions/web/styles/${path}`, import.meta.url), "utf8"),
  );
  const colored = [...css.join("\n").matchAll(/(?:&|\.status)\.([\w-]+)/g)].map(([, name]) => name);
  // A draft has the color of an open submission.
  const surveys = surveyStatus.options.filter((status) => status !== "draft").map((status) => `survey-${status}`);
  expect(colored).toEqual(expect.arrayContaining([...submissionStatuses, ...surveys]));
});
