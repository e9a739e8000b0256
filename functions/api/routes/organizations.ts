import { organizationDetailAnswer, organizationPatch } from "../../../shared/organizations.ts";
import { notFound } from "../../_shared/api-error.ts";
import { answer, endpoint } from "../../_shared/endpoint.ts";
import { organizationDetail, updateOrganization } from "../../_shared/statements/organizations.ts";

const tag = "Organizations";
const missing = () => notFound("organization");

export const organizations = [
  endpoint({
    method: "get",
    path: "/organizations/:id",
    tag,
    access: "caller",
    scopes: ["organization:write"],
    summary: "Show an organization with its settings and plan, to its team",
    answers: { 200: organizationDetailAnswer },
    call: ({ params }) => [organizationDetail(params.id)],
    respond: ([[shown]]) => {
      if (!shown) throw missing();
      return answer(200, shown.data);
    },
  }),
  endpoint({
    method: "patch",
    path: "/organizations/:id",
    tag,
    access: "caller",
    scopes: ["organization:write"],
    summary: "Change an organization's settings, as an admin",
    body: organizationPatch,
    answers: { 200: organizationDetailAnswer },
    call: ({ params, body }) => [updateOrganization(params.id, body)],
    respond: ([[shown]]) => {
      if (!shown) throw missing();
      return answer(200, shown.data);
    },
  }),
];
