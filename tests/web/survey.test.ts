import { beforeAll, describe, expect, test } from "vitest";
import { messagesOf } from "../../functions/words/index.ts";
import { change, newDraft, newSurvey, oneOfEach } from "../api/survey-world.ts";
import { newOrganization, newSubmission, newUser, type Organization, type User } from "../api/world.ts";
import { sql } from "../stack.ts";
import { newVisitor, signedIn, type Visitor } from "./pages.ts";

let organization: Organization;
let admin: User;

beforeAll(async () => {
  organization = await newOrganization();
  admin = await newUser("Ada Admin", { organization, role: "admin" });
});

const pathOf = ({ id }: { id: string }) => `/surveys/${id}`;
const headingAt = async (visitor: Visitor, path: string) =>
  (await visitor.get(path)).html.querySelector(".survey-notice h2")?.text;
const formAt = async (visitor: Visitor, path: string) => (await visitor.get(path)).html.querySelector("#survey-form");
const responsesTo = ({ id }: { id: string }) =>
  sql`select id, user_id, answers, locale, started_at from public.survey_responses where survey_id = ${id}`;

describe("a survey's page", () => {
  test("shows every type of question, and accepts responses without JavaScript", async () => {
    const survey = await newSurvey(admin, organization);
    const visitor = await signedIn();
    const form = await formAt(visitor, pathOf(survey));
    const [nps, rating, choice, choices, text, email] = survey.questions;
    expect(form?.querySelectorAll(`input[name="number.${nps?.id}"]`)).toHaveLength(11);
    expect(form?.querySelectorAll(`input[name="number.${rating?.id}"]`)).toHaveLength(5);
    expect(form?.querySelectorAll(`#question-${nps?.id} .required`)).toHaveLength(1);
    expect(form?.querySelectorAll(".required")).toHaveLength(1);
    const body = new URLSearchParams([
      [`number.${nps?.id}`, "9"],
      [`text.${choice?.id}`, choice?.options?.[1]?.id ?? ""],
      [`options.${choices?.id}`, choices?.options?.[2]?.id ?? ""],
      [`options.${choices?.id}`, choices?.options?.[0]?.id ?? ""],
      [`text.${text?.id}`, "<b>Nothing</b> & all"],
      [`text.${email?.id}`, ""],
    ]);
    const sent = await visitor.postRaw(pathOf(survey), body.toString());
    expect([sent.status, sent.location], sent.text).toEqual([
      303,
      expect.stringMatching(`^/surveys/${survey.id}\\?answered=`),
    ]);
    const thanks = await visitor.get(sent.location ?? "");
    expect(thanks.html.querySelector("h2")?.text).toBe("Thank you!");
    const [response] = await responsesTo(survey);
    expect(response?.user_id).toBe(visitor.userId);
    expect(response?.started_at).not.toBeNull();
    expect(response?.answers).toEqual([
      { question_id: nps?.id, value: 9 },
      { question_id: choice?.id, value: "iOS" },
      { question_id: choices?.id, value: ["Votes", "Surveys"] },
      { question_id: text?.id, value: "<b>Nothing</b> & all" },
    ]);
    expect(await headingAt(visitor, pathOf(survey))).toBe("You’ve already answered this survey");
  });

  test("shows errors at each question and keeps the answers", async () => {
    const survey = await newSurvey(admin, organization);
    const visitor = await signedIn();
    const [nps, rating, , , text, email] = survey.questions;
    const refused = await visitor.post(`${pathOf(survey)}?lang=de`, {
      [`number.${rating?.id}`]: "7",
      [`text.${text?.id}`]: "</textarea><script>alert(1)</script>",
      [`text.${email?.id}`]: "nobody",
    });
    expect(refused.status).toBe(422);
    const problem = (id?: string) => refused.html.querySelector(`#problem-${id}`)?.text.trim();
    expect(problem(nps?.id)).toBe(messagesOf("de").surveys.needsAnswer);
    expect(problem(rating?.id)).toBe(messagesOf("de").surveys.needsNumber(1, 5));
    expect(problem(email?.id)).toContain("E-Mail-Adresse");
    expect(refused.html.querySelector(`#answer-${text?.id}`)?.text).toBe("</textarea><script>alert(1)</script>");
    expect(refused.html.querySelector(`#answer-${email?.id}`)?.getAttribute("value")).toBe("nobody");
    expect(refused.html.querySelectorAll("[role=alert] a").map((a) => a.getAttribute("href"))).toEqual(
      [nps, rating, email].map((question) => `#question-${question?.id}`),
    );
    expect(refused.text).not.toContain("<script>alert");
    expect(await responsesTo(survey)).toHaveLength(0);
  });

  test("requires at least one answer, and none for hidden questions", async () => {
    const survey = await newSurvey(admin, organization, {
      questions: oneOfEach.map((question) => ({ ...question, required: false })),
    });
    const visitor = await signedIn();
    const empty = await visitor.post(pathOf(survey), {});
    expect([empty.status, empty.html.querySelector("[role=alert]")?.text.trim()]).toEqual([
      422,
      "Answer at least one question.",
    ]);
    const other = await visitor.post(pathOf(survey), { [`text.${crypto.randomUUID()}`]: "x" });
    expect(other.status).toBe(422);
    expect(await responsesTo(survey)).toHaveLength(0);
  });

  test("is rejected from another origin, and redirects an anonymous visitor to sign-in and back", async () => {
    const survey = await newSurvey(admin, organization);
    const fields = { [`number.${survey.questions[0]?.id}`]: "9" };
    const visitor = await signedIn();
    expect((await visitor.post(pathOf(survey), fields, { origin: "https://evil.example" })).status).toBe(403);
    const stranger = newVisitor();
    expect(await headingAt(stranger, pathOf(survey))).toBe("Sign in to answer");
    const { html } = await stranger.get(pathOf(survey));
    expect(html.querySelector(".survey-notice a")?.getAttribute("href")).toBe(
      `/sign-in?return_to=${encodeURIComponent(pathOf(survey))}`,
    );
    const posted = await stranger.post(pathOf(survey), fields);
    expect([posted.status, posted.location]).toEqual([303, expect.stringMatching(/^\/sign-in\?return_to=/)]);
    expect(await responsesTo(survey)).toHaveLength(0);
  });

  test("shows a message when it is paused, closed, a draft, for others or in another language", async () => {
    const [paused, closed] = [await newSurvey(admin, organization), await newSurvey(admin, organization)];
    await change(paused.id, "pause", admin);
    await change(closed.id, "archive", admin);
    const submission_id = await newSubmission(organization, await newUser());
    const voters = await newSurvey(admin, organization, { targeting: { audience: "voters", submission_id } });
    const german = await newSurvey(admin, organization, { targeting: { locales: ["de"] } });
    const draft = await newDraft(admin, organization);
    const visitor = await signedIn();
    expect(await headingAt(newVisitor(), pathOf(paused))).toBe("This survey is paused");
    expect(await headingAt(visitor, pathOf(paused))).toBe("This survey is paused");
    expect(await headingAt(newVisitor(), pathOf(closed))).toBe("This survey has closed");
    expect(await headingAt(visitor, pathOf(voters))).toBe("You can’t answer this survey");
    expect(await headingAt(visitor, pathOf(german))).toBe("This survey isn’t in your language");
    const { html } = await visitor.get(pathOf(german));
    expect(html.querySelectorAll(".survey-notice a").map((a) => [a.text.trim(), a.getAttribute("href")])).toEqual([
      ["Deutsch", `${pathOf(german)}?lang=de`],
    ]);
    expect(await formAt(visitor, `${pathOf(german)}?lang=de`)).not.toBeNull();
    expect((await visitor.get(pathOf(draft))).status).toBe(404);
    const starts = await sql`
      select survey_id from private.survey_starts where survey_id = any (${[paused, closed, voters, german].map(({ id }) => id)})`;
    expect(starts.map(({ survey_id }) => survey_id)).toEqual([german.id]);
  });

  test("of a draft shows a preview to the team", async () => {
    const draft = await newDraft(admin, organization);
    const member = await signedIn({ organization, role: "member" });
    const { html, status } = await member.get(pathOf(draft));
    expect(status).toBe(200);
    expect(html.querySelector("fieldset.bare")?.hasAttribute("disabled")).toBe(true);
    expect(html.querySelector('meta[name="robots"]')?.getAttribute("content")).toBe("noindex");
    expect((await (await signedIn()).get(pathOf(draft))).status).toBe(404);
  });

  test("of a private board is visible to its team only", async () => {
    const hidden = await newOrganization({ visibility: "private" });
    const owner = await newUser("Olga", { organization: hidden, role: "owner" });
    const survey = await newSurvey(owner, hidden);
    expect((await newVisitor().get(pathOf(survey))).status).toBe(404);
    expect((await (await signedIn()).get(pathOf(survey))).status).toBe(404);
  });

  test("redirects only after the caller's own response, and only to the survey's URL", async () => {
    const redirect_url = "https://example.org/thanks?a=1&b=2";
    const survey = await newSurvey(admin, organization, { settings: { redirect_url } });
    const [visitor, other] = [await signedIn(), await signedIn()];
    const sent = await visitor.post(pathOf(survey), { [`number.${survey.questions[0]?.id}`]: "9" });
    const refresh = async (as: Visitor, path: string) =>
      (await as.get(path)).html.querySelector("meta[http-equiv=refresh]")?.getAttribute("content");
    expect(await refresh(visitor, sent.location ?? "")).toBe(`0;url=${redirect_url}`);
    expect(await refresh(other, sent.location ?? "")).toBeUndefined();
    expect(await refresh(newVisitor(), sent.location ?? "")).toBeUndefined();
    expect(await refresh(visitor, pathOf(survey))).toBeUndefined();
  });

  test("accepts another response if the survey allows it, and the thank-you page does not start one", async () => {
    const survey = await newSurvey(admin, organization, {
      settings: { allow_multiple_responses: true, show_branding: false },
    });
    const visitor = await signedIn();
    const fields = { [`number.${survey.questions[0]?.id}`]: "9" };
    const { location = "" } = await visitor.post(pathOf(survey), fields);
    const { html } = await visitor.get(location);
    expect(html.querySelector(".branding")).toBeNull();
    expect(await sql`select from private.survey_starts where survey_id = ${survey.id}`).toHaveLength(0);
    expect(html.querySelectorAll(".survey-notice a").map((a) => a.getAttribute("href"))).toContain(pathOf(survey));
    expect((await visitor.post(pathOf(survey), fields)).status).toBe(303);
    expect(await responsesTo(survey)).toHaveLength(2);
  });

  test("shows the service's name unless the survey hides it", async () => {
    const survey = await newSurvey(admin, organization);
    expect((await newVisitor().get(pathOf(survey))).html.querySelector(".branding")?.text).toContain(
      "Feedback Collection Service",
    );
  });

  test("rejects a concurrent second response", async () => {
    const survey = await newSurvey(admin, organization);
    const visitor = await signedIn();
    const fields = { [`number.${survey.questions[0]?.id}`]: "9" };
    const sent = await Promise.all([1, 2].map(() => visitor.post(pathOf(survey), fields)));
    expect(sent.map(({ status }) => status).sort()).toEqual([303, 422]);
    expect(sent.find(({ status }) => status === 422)?.html.querySelector("h2")?.text).toBe(
      "You’ve already answered this survey",
    );
    expect(await responsesTo(survey)).toHaveLength(1);
  });
});
