import type { z } from "zod";
import type { agentListAnswer } from "../../../../../shared/agents.ts";
import { notFound } from "../../../../_shared/http/api-error.ts";
import { agentsMessages } from "../../../messages/admin/index.ts";
import { adminPath } from "../../../paths.ts";
import type { Visit } from "../../../visit.ts";

export type Agent = z.output<typeof agentListAnswer>["data"][number];
type Rows = readonly { data: string }[];

export const area = "agents";
export const words = agentsMessages;
export const baseOf = (visit: Visit) => adminPath(visit, "/settings/agents");
export const pathOf = (visit: Visit, id: string) => `${baseOf(visit)}/${id}`;

export function agentNamed([list]: Rows, id: string): Agent {
  const found = (JSON.parse(list?.data ?? "[]") as Agent[]).find((one) => one.id === id.toLowerCase());
  if (!found) throw notFound("agent");
  return found;
}

/** The page of an agent, between the area and those about it. */
export const trailOf = (visit: Visit, { id, name }: Agent) => [{ label: name, href: pathOf(visit, id) }];
