import { newSurvey } from "../../api/survey-world.ts";
import type { Maker } from "./maker.ts";

export const surveys = {
  /** A survey with a question of each type, open to everybody. */
  published_survey: async (scene) => {
    const { token = "" } = await scene.get("admin");
    return { id: (await newSurvey({ token }, await scene.organization)).id };
  },
} satisfies Record<string, Maker>;
