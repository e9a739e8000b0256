import { newDraft, newSurvey } from "../../api/survey-world.ts";
import type { Made, Maker, Thing } from "./maker.ts";

async function survey(scene: Made, make = newSurvey): Promise<Thing> {
  const admin = { token: "", ...(await scene.get("admin")) };
  const fields = { title: "How was it?", questions: [{ type: "nps", text: "Would you recommend us?" }] };
  const { id, questions } = await make(admin, await scene.organization, fields);
  return { id, question: questions[0]?.id };
}

export const agents = {
  /** Published surveys that ask one question. */
  published_survey: (scene) => survey(scene),
  other_survey: (scene) => survey(scene),
  draft_survey: (scene) => survey(scene, newDraft),
} satisfies Record<string, Maker>;
