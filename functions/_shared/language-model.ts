import { z } from "zod";

/** Any service that speaks OpenAI's chat completions. */
export type LanguageModel = {
  /** Up to /chat/completions, such as https://api.openai.com/v1. */
  url: string;
  key?: string | undefined;
  name: string;
};

type Purpose<Question, Answer> = {
  instructions: string;
  /** Makes the answer of the JSON the model said; throws where that is none. */
  read: (said: unknown, question: Question) => Answer;
  timeoutMs: number;
};

/** A service that failed is left alone so long, so that its trouble does not become ours. */
const restMs = 30_000;

const completion = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string() }) })).min(1),
});

/** Asks a model for one purpose: undefined where it does not answer, or not as it should. */
export function askFor<Question extends object, Answer>(
  model: LanguageModel,
  { instructions, read, timeoutMs }: Purpose<Question, Answer>,
  report: (problem: string) => void,
): (question: Question) => Promise<Answer | undefined> {
  let restUntil = 0;
  return async (question) => {
    if (performance.now() < restUntil) return undefined;
    let said: unknown;
    try {
      said = await complete(model, instructions, question, timeoutMs);
    } catch (problem) {
      restUntil = performance.now() + restMs;
      report(problem instanceof Error ? problem.message : String(problem));
      return undefined;
    }
    try {
      const { choices } = completion.parse(said);
      return read(JSON.parse(choices[0]?.message.content ?? ""), question);
    } catch {
      // No rest: whoever wrote the texts could have talked it into this. Not its words either, which may be theirs.
      report("it answered something else than it was asked for");
      return undefined;
    }
  };
}

async function complete(
  { url, key, name }: LanguageModel,
  instructions: string,
  question: object,
  timeoutMs: number,
): Promise<unknown> {
  const response = await fetch(`${url.replace(/\/+$/, "")}/chat/completions`, {
    method: "POST",
    // The key goes where the operator said, and nowhere else.
    redirect: "error",
    signal: AbortSignal.timeout(timeoutMs),
    headers: { "Content-Type": "application/json", ...(key ? { Authorization: `Bearer ${key}` } : {}) },
    body: JSON.stringify({
      model: name,
      temperature: 0,
      response_format: { type: "json_object" },
      messages: [
        { role: "system", content: instructions },
        { role: "user", content: JSON.stringify(question) },
      ],
    }),
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`it answered ${response.status}`);
  }
  return await response.json();
}
