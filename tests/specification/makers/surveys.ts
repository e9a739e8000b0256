import {
  answersTo,
  behindTriggers,
  change,
  type MadeSurvey,
  newDraft,
  newSurvey,
  respond as respondTo,
} from "../../api/survey-world.ts";
import { sql } from "../../stack.ts";
import type { Made, Maker, Thing } from "./maker.ts";

const person = async (scene: Made, name: string) => (await scene.get(name)) as Thing & { token: string };

/** The survey with the ids of its questions, and of some options. */
const named = ({ id, questions }: MadeSurvey): Thing => {
  const [nps, rating, choice, choices, text, email] = questions;
  return {
    ...{ id, nps: nps?.id, rating: rating?.id, choice: choice?.id, choices: choices?.id, text: text?.id },
    ...{ email: email?.id, web: choice?.options?.[0]?.id, votes: choices?.options?.[0]?.id },
  };
};
/** A draft of the admin with a question of every type: the first is required. */
const draft = async (scene: Made, fields: object = {}) =>
  newDraft(await person(scene, "admin"), await scene.organization, fields);
const open = async (scene: Made, fields: object = {}) =>
  newSurvey(await person(scene, "admin"), await scene.organization, fields);

/** The survey after these changes of its status. */
async function after(scene: Made, ...actions: Parameters<typeof change>[1][]): Promise<Thing> {
  const made = await draft(scene);
  for (const action of actions) await change(made.id, action, await person(scene, "admin"));
  return named(made);
}

type Response = { values: Record<number, unknown>; submitted_at: string; seconds?: number };

/** Responses of a nameless person, as they would be stored at these times. */
async function store(scene: Made, to: MadeSurvey, responses: Response[]): Promise<Thing> {
  for (const { values, submitted_at, seconds } of responses) {
    const started_at = seconds === undefined ? null : new Date(Date.parse(submitted_at) - seconds * 1000);
    const row = { survey_id: to.id, user_id: await scene.id("user"), submitted_at, started_at };
    await sql`insert into public.survey_responses ${sql({ ...row, answers: sql.json(answersTo(to, values) as never) })}`;
  }
  return named(to);
}
const day = "2026-01-01T00:00:00Z";

export const surveys = {
  draft: async (scene) => named(await draft(scene)),
  /** A draft without questions. */
  empty: async (scene) => named(await draft(scene, { questions: [] })),
  expired_draft: async (scene) => named(await draft(scene, { closes_at: "2020-01-01T00:00:00Z" })),
  /** Published, with a question of every type. */
  open: async (scene) => named(await open(scene)),
  paused: (scene) => after(scene, "publish", "pause"),
  archived: (scene) => after(scene, "publish", "archive"),
  /** Published, and its `closes_at` has passed. */
  closed: async (scene) => {
    const made = await open(scene, { closes_at: "2999-01-01T00:00:00Z" });
    await behindTriggers((tx) => tx`update public.surveys set closes_at = now() where id = ${made.id}`);
    return named(made);
  },
  /** Has all fields that may be left out. */
  full: async (scene) => {
    const settings = { redirect_url: "https://example.org/thanks" };
    return named(await draft(scene, { description: "Six questions", settings, closes_at: "2999-01-31T12:00:00Z" }));
  },
  /** One may answer it repeatedly. */
  often: async (scene) => named(await open(scene, { settings: { allow_multiple_responses: true } })),
  /** No question is required. */
  easy: async (scene) => named(await open(scene, { questions: [{ type: "nps", text: "Would you recommend us?" }] })),
  /** A draft version of the published survey. */
  version: async (scene) => {
    const { body } = await change(await scene.id("open"), "versions", await person(scene, "admin"));
    return { id: (body as { data: { id: string } }).data.id };
  },
  /** The user has answered it. */
  answered: async (scene) => {
    const made = await open(scene);
    await respondTo(made, await person(scene, "user"), { 0: 9, 1: 4, 2: "iOS", 3: ["Surveys", "Votes"], 4: "Blue" });
    return named(made);
  },
  /** Four responses; two of them took 100 and 50 seconds. Two people have started only. */
  measured: async (scene) => {
    const made = await open(scene, { settings: { allow_multiple_responses: true } });
    const common = { organization_id: (await scene.organization).id, survey_id: made.id };
    const starts = [await scene.id("author"), await scene.id("other")].map((user_id) => ({ ...common, user_id }));
    await sql`insert into private.survey_starts ${sql(starts)}`;
    return store(scene, made, [
      { values: { 0: 10, 1: 5, 2: "Web", 3: ["Votes", "Comments"] }, submitted_at: day, seconds: 100 },
      { values: { 0: 9, 1: 4, 2: "Web", 3: ["Votes"], 5: "a@example.org" }, submitted_at: day, seconds: 50 },
      { values: { 0: 8, 2: "iOS" }, submitted_at: day },
      { values: { 0: 2, 1: 1 }, submitted_at: day },
    ]);
  },
  /** Responses at four times: positive, neutral, negative, positive. */
  dated: async (scene) =>
    store(scene, await open(scene, { settings: { allow_multiple_responses: true } }), [
      { values: { 0: 10 }, submitted_at: day },
      { values: { 0: 7 }, submitted_at: "2026-01-15T12:00:00Z" },
      { values: { 0: 0 }, submitted_at: "2026-01-31T23:59:59.999Z" },
      { values: { 0: 10 }, submitted_at: "2026-02-01T00:00:00Z" },
    ]),
  for_voters: async (scene) =>
    named(await open(scene, { targeting: { audience: "voters", submission_id: await scene.id("voted") } })),
  for_followers: async (scene) =>
    named(await open(scene, { targeting: { audience: "followers", submission_id: await scene.id("idea") } })),
  in_german: async (scene) => named(await open(scene, { targeting: { locales: ["de", "ja"] } })),
  /** Five surveys: a draft, a published, a paused and an archived one, and another draft. */
  five: async (scene) => {
    for (const maker of ["draft", "open", "paused", "archived", "empty"]) await scene.get(maker);
    return { id: "" };
  },
} satisfies Record<string, Maker>;
