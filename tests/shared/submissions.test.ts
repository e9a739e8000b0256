import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { z } from "zod";
import { submissionCreate, submissionStatuses } from "../../shared/submissions.ts";
import { surveyStatus } from "../../shared/surveys.ts";
import { validationDetails } from "../../shared/validation.ts";

const good = { title: "Dark mode", description: "Please add a dark theme.", type: "idea" };

const isRejected = (schema: z.ZodType, value: unknown) => {
  const result = schema.safeParse(value);
  return result.success ? [] : validationDetails(result.error).map(({ field }) => field);
};

test("properties named like prototypes have no effect", () => {
  const body = JSON.parse(
    `{"__proto__": {"title": "From a prototype", "polluted": 1}, "constructor": 5, "type": "idea"}`,
  );
  expect(isRejected(submissionCreate, body)).toEqual(["title", "description"]);
  const parsed = submissionCreate.parse({ ...good, ...JSON.parse(`{"__proto__": {"polluted": 1}}`) });
  expect(parsed).not.toHaveProperty("polluted");
  expect({}).not.toHaveProperty("polluted");
});

test("each status has its color in the style sheets", () => {
  const css = ["pieces.css", "admin/surveys.css"].map((path) =>
    readFileSync(new URL(`../../functions/web/styles/${path}`, import.meta.url), "utf8"),
  );
  const colored = [...css.join("\n").matchAll(/(?:&|\.status)\.([\w-]+)/g)].map(([, name]) => name);
  // A draft has the color of an open submission.
  const surveys = surveyStatus.options.filter((status) => status !== "draft").map((status) => `survey-${status}`);
  expect(colored).toEqual(expect.arrayContaining([...submissionStatuses, ...surveys]));
});
