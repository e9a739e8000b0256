import { isUuid } from "../../shared/fields.ts";
import { toolByName } from "./registry.ts";

/** MCP resources by URI, each with the tool that reads it. */
const resources = [
  { name: "submission", kind: "submissions", tool: "get_submission", argument: "submission_id" },
  { name: "survey", kind: "surveys", tool: "get_survey", argument: "survey_id" },
].filter(({ tool }) => toolByName.has(tool));

export const resourceTemplates = resources.map(({ name, kind, tool }) => ({
  name,
  title: toolByName.get(tool)?.title,
  uriTemplate: `feedback://${kind}/{id}`,
  description: toolByName.get(tool)?.description,
  mimeType: "application/json",
}));

export function toolOfResource(uri: string): { name: string; arguments: Record<string, string> } | undefined {
  const [, kind, id = ""] = /^feedback:\/\/([a-z]+)\/([0-9a-fA-F-]{36})$/.exec(uri) ?? [];
  const resource = resources.find((one) => one.kind === kind);
  return resource && isUuid(id) ? { name: resource.tool, arguments: { [resource.argument]: id } } : undefined;
}
