import { environment } from "../runtime/environment.ts";
import { logWarning } from "../runtime/log.ts";
import { lexiconScorer, llmScorer, type TextScorer } from "./llm.ts";

const { languageModel } = environment;

/**
 * Scores texts with the configured language model, or with the lexicon. Slow with a model: do not hold a database
 * connection meanwhile.
 */
export const scoreTexts: TextScorer = languageModel
  ? llmScorer(languageModel, (problem) => logWarning(`The language model did not judge: ${problem}.`))
  : lexiconScorer;

/** Whether a model scores texts after the lexicon. */
export const hasModel = languageModel !== undefined;
