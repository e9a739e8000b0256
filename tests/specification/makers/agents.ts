import { newSurvey } from "../../api/survey-world.ts";
import type { Maker, Thing } from "./maker.ts";

export const agents = {
  /** A published survey that asks one question. */
  published_survey: async (scene): Promise<Thing> => {
    const admin = { token: "", ...(await scene.get("admin")) };
    const questions = [{ type: "nps", text: "Would you recommend us?" }];
    const { id, questions: made } = await newSurvey(admin, await scene.organization, {
      title: "How was it?",
      questions,
    });
    return { id, question: made[0]?.id };
  },
} satisfies Record<string, Maker>;
