import { newSurvey } from "../../api/survey-world.ts";
import type { Made, Maker, Thing } from "./maker.ts";

async function survey(scene: Made): Promise<Thing> {
  const admin = { token: "", ...(await scene.get("admin")) };
  const fields = { title: "How was it?", questions: [{ type: "nps", text: "Would you recommend us?" }] };
  const { id, questions } = await newSurvey(admin, await scene.organization, fields);
  return { id, question: questions[0]?.id };
}

export const agents = {
  /** Published surveys that ask one question. */
  published_survey: survey,
  other_survey: survey,
} satisfies Record<string, Maker>;
