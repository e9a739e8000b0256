import { environment } from "../environment.ts";
import { logWarning } from "../log.ts";
import { type Judge, lexiconJudge, llmJudge } from "./llm.ts";

const { sentimentLlmUrl: url, sentimentLlmKey: key, sentimentLlmModel: model } = environment;

/** What texts say, by the model the deployment names or else by the lexicon. It takes as long as the model: not for the way of a request. */
export const judgeTexts: Judge =
  url !== undefined && model !== undefined
    ? llmJudge({ url, key, model }, (problem) =>
        logWarning(
          `SENTIMENT_LLM_URL did not judge: ${problem instanceof Error ? problem.message : problem}`,
        ),
      )
    : lexiconJudge;

/** Whether a model judges texts, after the lexicon did. */
export const hasModel = judgeTexts !== lexiconJudge;
