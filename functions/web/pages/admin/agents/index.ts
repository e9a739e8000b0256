import { agents as endpoints } from "../../../../endpoints/agents.ts";
import { endpointOf } from "../../../page.tsx";
import type { Visit } from "../../../visit.ts";
import { adminAction } from "../admin-page.tsx";
import { agent } from "./agent.tsx";
import { agentCalls } from "./calls.tsx";
import { editAgent, newAgent, retireAgent } from "./edit.tsx";
import { newAgentKey, revokeAgentKey, rotateAgentKey } from "./keys.tsx";
import { agents } from "./list.tsx";
import { agentPoliciesPage, policiesOf } from "./policies.tsx";
import { area, pathOf } from "./shared.tsx";

type At = { visit: Visit; params: Record<string, string> };
const ofApi = (method: "post" | "patch" | "put" | "delete", path: string) =>
  endpointOf(endpoints, method, `/admin/agents${path}`);
const toAgent = (_response: unknown, { visit, params: { id = "" } }: At) => pathOf(visit, id);

export const agentPages = [
  agents,
  newAgent,
  agent,
  editAgent,
  retireAgent,
  agentPoliciesPage,
  agentCalls,
  newAgentKey,
  rotateAgentKey,
  revokeAgentKey,
  adminAction(ofApi("post", ""), {
    area,
    formPage: newAgent,
    doneMessage: "created",
    redirectTo: ({ json }, { visit }) => pathOf(visit, JSON.parse(json).data.id),
  }),
  adminAction(ofApi("patch", "/:id"), {
    area,
    path: "/:id",
    formPage: editAgent,
    doneMessage: "saved",
    redirectTo: toAgent,
  }),
  adminAction(ofApi("delete", "/:id"), { area, path: "/:id", formPage: retireAgent, doneMessage: "retired" }),
  adminAction(ofApi("put", "/:id/policies"), {
    area,
    path: "/:id/policies",
    formPage: agentPoliciesPage,
    readForm: policiesOf,
    doneMessage: "policies",
    redirectTo: toAgent,
  }),
  adminAction(ofApi("post", "/:id/keys"), {
    area,
    path: "/:id/keys",
    formPage: newAgentKey,
    resultPage: agent,
  }),
  adminAction(ofApi("post", "/:id/keys/:key_id/rotate"), {
    area,
    path: "/:id/keys/:key_id/rotate",
    formPage: rotateAgentKey,
    resultPage: agent,
  }),
  adminAction(ofApi("delete", "/:id/keys/:key_id"), {
    area,
    path: "/:id/keys/:key_id",
    formPage: agent,
    doneMessage: "revoked",
    redirectTo: toAgent,
  }),
];
