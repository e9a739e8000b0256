import { logoTypes } from "../../shared/logos.ts";
import { organizationDetailAnswer, organizationPatch } from "../../shared/organizations.ts";
import { logoFile, storeLogo } from "../_shared/files/logos.ts";
import { ApiError } from "../_shared/http/api-error.ts";
import { bodyChunks, problemOfLength } from "../_shared/http/body.ts";
import { dataResponse, endpointsOf, row } from "../_shared/http/endpoint.ts";
import { logoOf, organizationDetail, updateOrganization } from "../_shared/statements/organizations.ts";

const { get, patch, work } = endpointsOf({ tag: "Organizations", access: "caller" });

export const organizations = [
  get("/organizations/:id", {
    scopes: ["organization:write"],
    summary: "Show an organization with settings and plan limits, for its team",
    responses: { 200: organizationDetailAnswer },
    call: ({ params }) => [organizationDetail(params.id)],
    respond: row("organization"),
  }),
  patch("/organizations/:id", {
    scopes: ["organization:write"],
    summary: "Change an organization's settings, as an admin",
    body: organizationPatch,
    responses: { 200: organizationDetailAnswer },
    call: ({ params, body }) => [updateOrganization(params.id, body)],
    respond: row("organization"),
  }),
  work("put", "/organizations/:id/logo", {
    runsLong: true,
    scopes: ["organization:write"],
    summary: "Upload the logo, a picture of at most 512 KiB, as an admin; `logo_url: null` removes it",
    consumes: Object.values(logoTypes),
    responses: { 200: organizationDetailAnswer },
    work: async ({ input: { params }, request, execute }) => {
      const type = (request.headers.get("Content-Type") ?? "").split(";")[0]?.trim().toLowerCase();
      const problem =
        problemOfLength(request, logoFile) ??
        (Object.values(logoTypes).some((known) => known === type)
          ? undefined
          : new ApiError(
              "UNSUPPORTED_MEDIA_TYPE",
              `Set Content-Type to one of ${Object.values(logoTypes).join(", ")}.`,
            ));
      if (problem) {
        await execute([logoOf(params.id)]);
        throw problem;
      }
      return dataResponse(200, await storeLogo(params.id, bodyChunks(request, logoFile), execute));
    },
  }),
];
