import type { Agent } from "../../../../_shared/statements/agents.ts";
import { agents as endpoints } from "../../../../endpoints/agents.ts";
import { endpointOf } from "../../../page.tsx";
import { adminPath } from "../../../paths.ts";
import type { Visit } from "../../../visit.ts";

export const area = "agents";
export const baseOf = (visit: Visit) => adminPath(visit, "/settings/agents");
export const pathOf = (visit: Visit, id: string) => `${baseOf(visit)}/${id}`;

/** The page of an agent, between the area and those about it. */
export const trailOf = (visit: Visit, { id, name }: Agent) => [{ label: name, href: pathOf(visit, id) }];

export const ofApi = (method: "post" | "patch" | "put" | "delete", path: string) =>
  endpointOf(endpoints, method, `/admin/agents${path}`);
