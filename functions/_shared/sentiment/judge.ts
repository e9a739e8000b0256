import { environment } from "../environment.ts";
import { logWarning } from "../log.ts";
import { type Judge, lexiconJudge, llmJudge } from "./llm.ts";

const { languageModel } = environment;

/** What texts say, by the model the deployment names or else by the lexicon. It takes as long as the model: no connection to the database may wait for it. */
export const judgeTexts: Judge = languageModel
  ? llmJudge(languageModel, (problem) => logWarning(`The language model did not judge: ${problem}.`))
  : lexiconJudge;

/** Whether a model judges texts, after the lexicon did. */
export const hasModel = languageModel !== undefined;
