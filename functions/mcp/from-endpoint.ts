import { z } from "zod";
import { uuid } from "../../shared/fields.ts";
import type { JsonResponse, StatementEndpoint } from "../_shared/http/endpoint.ts";
import { confirm, type Tool, type ToolContext, tool } from "./tool.ts";
import type { Found } from "./tools/pages.ts";

// biome-ignore lint/suspicious/noExplicitAny: JSON of the endpoint, whose tests compare it with its schema.
export type Answer = { data: any; meta: Found };

type Mirror = Omit<Tool, "input" | "output" | "operation" | "call" | "respond"> & {
  /** The parameter that is the id in the path. */
  id?: string;
  /** Without it: the id, the fields of the body, and `confirm` if the tool is destructive. */
  input?: z.ZodObject;
  /** Without it: the data of the response. */
  output?: z.ZodRawShape;
  /** In place of the arguments. */
  query?: object;
  /** Converts the response to the tool's output; by default, the output is the data of the response. */
  answer?: (response: Answer, args: never) => object;
};

/** A tool that calls an endpoint as this agent. */
export function fromEndpoint(endpoint: StatementEndpoint, mirror: Mirror): Tool {
  const { id = "", query, answer, output, ...definition } = mirror;
  const {
    input = z.object({
      ...(id && idNamed(id)),
      ...shapeOf(endpoint.body),
      ...(definition.annotations.destructiveHint && { confirm }),
    }),
  } = mirror;
  const inputOf = (args: object, context: ToolContext) => {
    const { [id]: pathId, confirm: _, ...rest } = args as Record<string, unknown>;
    return { ...context, params: { id: pathId }, query: query ?? rest, body: rest, byKey: true } as never;
  };
  const [success] = Object.values(endpoint.responses);
  return tool({
    ...definition,
    operation: endpoint.operation,
    input,
    output: z.object(output ?? shapeOf(shapeOf(success).data)),
    call: (args, context) => endpoint.call(inputOf(args, context)),
    respond: (results, args, context) => {
      const { json } = endpoint.respond(results as never, inputOf(args, context)) as JsonResponse;
      const response: Answer = JSON.parse(json);
      return answer ? answer(response, args as never) : response.data;
    },
  });
}

/** The parameter with the id of a submission or a survey. */
export const idNamed = <Name extends string>(name: Name) =>
  ({ [name]: uuid.describe(`Id of the ${name.replace("_id", "")}.`) }) as Record<Name, typeof uuid>;

const shapeOf = (schema: unknown): z.ZodRawShape => (schema as z.ZodObject | undefined)?.shape ?? {};
