import type { Tool } from "./tool.ts";
import { commentTools } from "./tools/comments.ts";
import { sentimentTools } from "./tools/sentiment.ts";
import { submissionTools } from "./tools/submissions.ts";
import { surveyTools } from "./tools/surveys.ts";
import { voteTools } from "./tools/votes.ts";

/** All tools of both endpoints in listing order. To add a tool, add an object. */
export const tools: readonly Tool[] = [
  ...submissionTools,
  ...commentTools,
  ...voteTools,
  ...surveyTools,
  ...sentimentTools,
];

export const toolByName: ReadonlyMap<string, Tool> = new Map(tools.map((tool) => [tool.name, tool]));
