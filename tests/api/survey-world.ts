import postgres from "postgres";
import type { z } from "zod";
import { type Question, surveyCreatedAnswer, type surveyDetail, surveyDetailAnswer } from "../../shared/surveys.ts";
import { stack } from "../stack.ts";
import { api, type Caller, expectJson, getJson } from "./client.ts";
import type { Organization } from "./world.ts";

export type Detail = z.infer<typeof surveyDetail>;
export type MadeSurvey = { id: string; questions: Question[] };

type Asked = { type: string; text: string; required?: boolean; options?: string[]; multiple?: boolean };

/** A question of every type; the first one is required. */
export const oneOfEach: Asked[] = [
  { type: "nps", text: "Would you recommend us?", required: true },
  { type: "rating", text: "How easy was it?" },
  { type: "multiple_choice", text: "Where do you use it?", options: ["Web", "iOS", "Android"] },
  { type: "multiple_choice", text: "What do you use?", options: ["Votes", "Comments", "Surveys"], multiple: true },
  { type: "text", text: "What is missing?" },
  { type: "email", text: "Where can we reach you?" },
];

export async function newDraft(by: Caller, on: Organization, fields: object = {}): Promise<MadeSurvey> {
  const body = { title: "A survey", questions: oneOfEach, ...fields };
  const { id } = expectJson(await api("POST", "/api/surveys", { as: by, on, body }), 201, surveyCreatedAnswer).data;
  return { id, questions: (await detailOf(id, by, "questions")).questions ?? [] };
}

export async function newSurvey(by: Caller, on: Organization, fields: object = {}): Promise<MadeSurvey> {
  const survey = await newDraft(by, on, fields);
  expectJson(await change(survey.id, "publish", by), 200, surveyDetailAnswer);
  return survey;
}

export function change(id: string, action: "publish" | "pause" | "resume" | "archive" | "versions", as: Caller) {
  return api("POST", `/api/surveys/${id}/${action}`, { as });
}

export async function detailOf(id: string, as?: Caller, expand = ""): Promise<Detail> {
  const query = expand && `?expand=${expand}`;
  return (await getJson(`/api/surveys/${id}${query}`, surveyDetailAnswer, { as })).data;
}

/** Answers by the question's position in the survey, from 0. */
export function answersTo({ questions }: MadeSurvey, values: Record<number, unknown>) {
  return Object.entries(values).map(([n, value]) => ({ question_id: questions[Number(n)]?.id, value }));
}

export function respond(
  survey: MadeSurvey,
  as: Caller | undefined,
  values: Record<number, unknown>,
  headers: Record<string, string> = {},
) {
  const body = { answers: answersTo(survey, values) };
  return api("POST", `/api/surveys/${survey.id}/responses`, { as, body, headers });
}

/** Makes changes that no caller may make and no trigger sees, such as the closing time of a survey. */
export async function behindTriggers(work: (tx: postgres.TransactionSql) => Promise<unknown>): Promise<void> {
  const superuser = postgres(stack.superuserUrl, { max: 1 });
  await superuser.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await work(tx);
  });
  await superuser.end();
}
