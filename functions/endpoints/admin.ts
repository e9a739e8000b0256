import {
  apiKeyAnswer,
  apiKeyCreate,
  apiKeyListAnswer,
  apiKeyRotate,
  newApiKeyAnswer,
  originsAnswer,
  originsUpdate,
} from "../../shared/admin.ts";
import { newApiKey, orgKeyPrefix } from "../../shared/api-keys.ts";
import { notFound } from "../_shared/http/api-error.ts";
import { dataResponse, endpointsOf, row } from "../_shared/http/endpoint.ts";
import { allowedOrigins, createApiKey, listApiKeys, revokeApiKey, rotateApiKey } from "../_shared/statements/admin.ts";

const { get, post, put, del } = endpointsOf({ tag: "Administration", access: "person" });
/** The key as the database returns it, with its secret. */
export function withSecret(data: string | null | undefined, secret: string): string {
  if (!data) throw notFound("key");
  return JSON.stringify({ ...JSON.parse(data), secret });
}

export const admin = [
  get("/admin/api-keys", {
    summary: "List the organization's keys, as an admin",
    responses: { 200: apiKeyListAnswer },
    call: () => [listApiKeys()],
    respond: row("organization"),
  }),
  post("/admin/api-keys", {
    summary: "Create a key; its secret is returned once",
    body: apiKeyCreate,
    responses: { 201: newApiKeyAnswer },
    showsSecret: true,
    prepare: () => newApiKey(orgKeyPrefix),
    call: ({ body, prepared }) => [createApiKey(body, prepared)],
    respond: ([[key]], { prepared }) => dataResponse(201, withSecret(key?.data, prepared.secret)),
  }),
  post("/admin/api-keys/:id/rotate", {
    summary: "Rotate the secret of a key; the old one stays valid for an overlap",
    body: apiKeyRotate,
    responses: { 201: newApiKeyAnswer },
    showsSecret: true,
    prepare: () => newApiKey(orgKeyPrefix),
    call: ({ params, body, prepared }) => [rotateApiKey(params.id, body, prepared)],
    respond: ([[key]], { prepared }) => dataResponse(201, withSecret(key?.data, prepared.secret)),
  }),
  del("/admin/api-keys/:id", {
    summary: "Revoke a key permanently",
    responses: { 200: apiKeyAnswer },
    call: ({ params }) => [revokeApiKey(params.id)],
    respond: row("key"),
  }),
  get("/admin/origins", {
    access: "caller",
    scopes: ["organization:write"],
    summary: "List the allowed origins, as an admin",
    responses: { 200: originsAnswer },
    call: () => [allowedOrigins(null)],
    respond: row("organization"),
  }),
  put("/admin/origins", {
    access: "caller",
    scopes: ["organization:write"],
    summary: "Replace the allowed origins, as an admin",
    body: originsUpdate,
    responses: { 200: originsAnswer },
    call: ({ body }) => [allowedOrigins(body.origins)],
    respond: row("organization"),
  }),
];
