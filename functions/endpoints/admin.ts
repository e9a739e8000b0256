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
import { dataResponse, endpoint } from "../_shared/http/endpoint.ts";
import {
  allowedOrigins,
  createApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
} from "../_shared/statements/admin.ts";

const tag = "Administration";

/** The key as the database returns it, with its secret. */
export function withSecret(data: string | null | undefined, secret: string): string {
  if (!data) throw notFound("key");
  return JSON.stringify({ ...JSON.parse(data), secret });
}

export const admin = [
  endpoint({
    method: "get",
    path: "/admin/api-keys",
    tag,
    access: "person",
    summary: "List the organization's keys, as an admin",
    responses: { 200: apiKeyListAnswer },
    call: () => [listApiKeys()],
    respond: ([[keys]]) => dataResponse(200, keys?.data ?? "[]"),
  }),
  endpoint({
    method: "post",
    path: "/admin/api-keys",
    tag,
    access: "person",
    summary: "Create a key; its secret is returned once",
    body: apiKeyCreate,
    responses: { 201: newApiKeyAnswer },
    showsSecret: true,
    prepare: () => newApiKey(orgKeyPrefix),
    call: ({ body, prepared }) => [createApiKey(body, prepared)],
    respond: ([[key]], { prepared }) => dataResponse(201, withSecret(key?.data, prepared.secret)),
  }),
  endpoint({
    method: "post",
    path: "/admin/api-keys/:id/rotate",
    tag,
    access: "person",
    summary: "Rotate the secret of a key; the old one stays valid for an overlap",
    body: apiKeyRotate,
    responses: { 201: newApiKeyAnswer },
    showsSecret: true,
    prepare: () => newApiKey(orgKeyPrefix),
    call: ({ params, body, prepared }) => [rotateApiKey(params.id, body, prepared)],
    respond: ([[key]], { prepared }) => dataResponse(201, withSecret(key?.data, prepared.secret)),
  }),
  endpoint({
    method: "delete",
    path: "/admin/api-keys/:id",
    tag,
    access: "person",
    summary: "Revoke a key permanently",
    responses: { 200: apiKeyAnswer },
    call: ({ params }) => [revokeApiKey(params.id)],
    respond: ([[key]]) => {
      if (!key?.data) throw notFound("key");
      return dataResponse(200, key.data);
    },
  }),
  endpoint({
    method: "get",
    path: "/admin/origins",
    tag,
    access: "caller",
    scopes: ["organization:write"],
    summary: "List the allowed origins, as an admin",
    responses: { 200: originsAnswer },
    call: () => [allowedOrigins(null)],
    respond: ([[origins]]) => dataResponse(200, origins?.data ?? "{}"),
  }),
  endpoint({
    method: "put",
    path: "/admin/origins",
    tag,
    access: "caller",
    scopes: ["organization:write"],
    summary: "Replace the allowed origins, as an admin",
    body: originsUpdate,
    responses: { 200: originsAnswer },
    call: ({ body }) => [allowedOrigins(body.origins)],
    respond: ([[origins]]) => dataResponse(200, origins?.data ?? "{}"),
  }),
];
