import { beforeAll, describe, expect, test } from "vitest";
import type { z } from "zod";
import type { Tool } from "../../functions/mcp/tool.ts";
import { newComment, newSubmission, newUser } from "../api/world.ts";
import { tableUnder } from "../docs/markdown.ts";
import { importFunction } from "../import-function.ts";
import { stack } from "../stack.ts";
import { type Agent, callTool, newAgent, resultOf, rpc } from "./agents.ts";

let tools: readonly Tool[];
let agent: Agent;
const ids: Record<string, string> = {};

beforeAll(async () => {
  ({ tools } = await importFunction<{ tools: Tool[] }>(new URL("../../functions/mcp/registry.ts", import.meta.url)));
  agent = await newAgent();
  const author = await newUser();
  ids.submission = await newSubmission(agent.organization, author, { title: "Faster search" });
  ids.twin = await newSubmission(agent.organization, author, { title: "Search is slow" });
  await newComment(ids.submission, author);
  const survey = await resultOf<{ survey_id: string }>(agent, "create_survey", {
    title: "How was it?",
    questions: [
      { type: "nps", text: "Would you recommend it?", required: true },
      { type: "multiple_choice", text: "Which part?", options: ["Search", "Lists"] },
    ],
  });
  ids.survey = survey.survey_id;
});

describe("every tool", () => {
  test("has a name, a scope and consistent hints", () => {
    expect(tools.length).toBeLessThanOrEqual(25);
    expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length);
    for (const { name, description, scope, annotations, input } of tools) {
      const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
      expect(name).toMatch(/^[a-z]+(_[a-z]+)+$/);
      expect(description.length, name).toBeLessThan(250);
      expect([name, readOnlyHint]).toEqual([name, scope.endsWith(":read")]);
      expect([name, destructiveHint]).toEqual([name, "confirm" in input.shape]);
      expect([name, openWorldHint, readOnlyHint && (destructiveHint || !idempotentHint)]).toEqual([name, false, false]);
    }
  });

  test("is in docs/mcp.md with its scope", () => {
    const documented = tableUnder("docs/mcp.md", "Tools").flatMap(([names = "", scope = ""]) =>
      names.split(", ").map((name) => `${name} ${scope}`),
    );
    expect(documented.toSorted()).toEqual(tools.map(({ name, scope }) => `\`${name}\` \`${scope}\``).toSorted());
  });

  test("is listed within the size limits", async () => {
    const { result } = await rpc(agent, "tools/list");
    expect((result as { tools: unknown[] }).tools).toHaveLength(tools.length);
    expect(JSON.stringify(result).length).toBeLessThan(25_000);
    expect(JSON.stringify(result)).not.toMatch(/\$ref|\$defs/);
  });

  test("is described in the keywords that every model's API takes", async () => {
    const { result } = await rpc(agent, "tools/list");
    const used = new Set<string>();
    const visit = (schema: unknown) => {
      if (typeof schema !== "object" || schema === null) return;
      const { properties, ...keywords } = schema as Record<string, unknown>;
      for (const [name, value] of Object.entries(keywords)) {
        used.add(name === "type" || name === "format" ? `${name} ${JSON.stringify(value)}` : name);
        if (name === "items") visit(value);
        if (name === "anyOf") (value as unknown[]).forEach(visit);
      }
      Object.values(properties ?? {}).forEach(visit);
    };
    for (const { inputSchema } of (result as { tools: { inputSchema: object }[] }).tools) {
      expect(inputSchema).toMatchObject({ type: "object" });
      expect(inputSchema).not.toHaveProperty("anyOf");
      visit(inputSchema);
    }
    const types = ["array", "boolean", "integer", "null", "object", "string"].map((type) => `type "${type}"`);
    const bounds = ["maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum"];
    expect([...used].toSorted()).toEqual(
      [
        ...types,
        ...bounds,
        ...["anyOf", "default", "description", "enum", 'format "date-time"', "items", "pattern", "required"],
      ].toSorted(),
    );
    const { tools: standard } = (
      await (
        await fetch(`${stack.supabase_url}/api/mcp`, {
          method: "POST",
          headers: {
            Authorization: `Bearer ${agent.token}`,
            "Content-Type": "application/json",
            Accept: "application/json",
          },
          body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
        })
      ).json()
    ).result;
    expect(JSON.stringify(standard)).not.toContain('"type":[');
  });

  test("returns its output schema, and marks user text", async () => {
    const submission_id = ids.submission;
    const survey_id = ids.survey;
    // In this order: later calls need the rows of earlier ones.
    const calls: [string, object][] = [
      ["list_submissions", {}],
      ["get_submission", { submission_id }],
      ["search_submissions", { q: "search" }],
      ["find_similar_submissions", { title: "Faster searching" }],
      ["list_categories", {}],
      ["create_submission", { title: "Another idea", description: "It is a really good idea.", type: "idea" }],
      ["update_submission", { submission_id, title: "Much faster search" }],
      ["set_submission_status", { submission_id, status: "planned", note: "Soon" }],
      ["list_comments", { submission_id }],
      ["add_comment", { submission_id, body: "On it." }],
      ["vote_submission", { submission_id }],
      ["remove_vote", { submission_id }],
      ["merge_submissions", { source_ids: [ids.twin], target_id: submission_id }],
      ["list_surveys", {}],
      ["get_survey", { survey_id }],
      ["create_survey", { title: "Another survey", questions: [] }],
      ["update_survey", { survey_id, description: "Two questions" }],
      ["publish_survey", { survey_id }],
      ["list_survey_responses", { survey_id }],
      ["get_survey_analytics", { survey_id }],
      ["analyze_sentiment", { texts: ["I love it", "It crashes all the time"] }],
      ["delete_survey", { survey_id }],
    ];
    expect(calls.map(([name]) => name).toSorted()).toEqual(tools.map(({ name }) => name).toSorted());
    for (const [name, args] of calls) {
      const { result, error } = await callTool(agent, name, args);
      expect(error, name).toBeUndefined();
      const { output, untrusted } = tools.find((tool) => tool.name === name) as Tool;
      expect(() => output.strict().parse(result), name).not.toThrow();
      expect([name, (result as { untrusted_text?: string[] }).untrusted_text ?? []]).toEqual([name, untrusted]);
      for (const path of untrusted) expect([path, fieldOf(output, path.split("."))]).toEqual([path, true]);
    }
  });
});

/** Whether the field is in the schema, through arrays, so that no missing field is marked. */
function fieldOf(schema: z.ZodType, [name, ...rest]: string[]): boolean {
  if (name === undefined) return true;
  const inner = schema as z.ZodType & {
    shape?: Record<string, z.ZodType>;
    element?: z.ZodType;
    unwrap?: () => z.ZodType;
  };
  if (inner.shape) return name in inner.shape && fieldOf(inner.shape[name] as z.ZodType, rest);
  const next = inner.element ?? inner.unwrap?.();
  return next !== undefined && fieldOf(next, [name, ...rest]);
}
