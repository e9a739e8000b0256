import { z } from "zod";

/** Any service with an OpenAI-compatible chat completions API. */
export type LanguageModel = {
  /** Base URL up to /chat/completions, such as https://api.openai.com/v1. */
  url: string;
  key?: string | undefined;
  name: string;
};

type Purpose<Question, Answer> = {
  instructions: string;
  /** Validates the model's JSON output; throws if it is not valid. */
  read: (output: unknown, question: Question) => Answer;
  timeoutMs: number;
};

/** Pause after a failure of the service. */
const restMs = 30_000;

const completion = z.object({ choices: z.array(z.object({ message: z.object({ content: z.string() }) })).min(1) });

/** Sends a prompt to the model; returns undefined if it does not respond or its output is not valid. */
export function modelQuery<Question extends object, Answer>(
  model: LanguageModel,
  { instructions, read, timeoutMs }: Purpose<Question, Answer>,
  report: (problem: string) => void,
): (question: Question) => Promise<Answer | undefined> {
  let pausedUntil = 0;
  return async (question) => {
    if (performance.now() < pausedUntil) return undefined;
    let output: unknown;
    try {
      output = await complete(model, instructions, question, timeoutMs);
    } catch (problem) {
      pausedUntil = performance.now() + restMs;
      report(problem instanceof Error ? problem.message : String(problem));
      return undefined;
    }
    try {
      const { choices } = completion.parse(output);
      return read(JSON.parse(choices[0]?.message.content ?? ""), question);
    } catch {
      // No pause: the author of the texts may have caused it by prompt injection. The output is not logged, because it
      // may quote them.
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
    // The key is sent to the configured URL only.
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
