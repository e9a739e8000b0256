import type { Locale } from "../../../shared/locales.ts";
import { environment } from "../../_shared/runtime/environment.ts";
import { logWarning } from "../../_shared/runtime/log.ts";
import type { Tool } from "../tool.ts";
import { modelReader } from "./model.ts";
import { parse, type Unclear, type Understood } from "./parse.ts";

const { languageModel } = environment;
const readByModel =
  languageModel &&
  modelReader(languageModel, (problem) => logWarning(`The language model did not read a sentence: ${problem}.`));

/** Finds the tool for a sentence and its arguments; asks the configured model if the parser is not confident. */
export async function understand(input: string, tools: readonly Tool[], locale: Locale): Promise<Understood | Unclear> {
  const parsed = parse(input, tools, locale);
  if (!("candidates" in parsed) || !readByModel) return parsed;
  return (await readByModel(input, tools, locale)) ?? parsed;
}
