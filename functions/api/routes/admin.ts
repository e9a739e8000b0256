import {
  apiKeyAnswer,
  apiKeyCreate,
  apiKeyListAnswer,
  apiKeyRotate,
  newApiKeyAnswer,
  originsAnswer,
  originsUpdate,
} from "../../../shared/admin.ts";
import { newApiKey, orgKeyPrefix } from "../../../shared/api-keys.ts";
import { notFound } from "../../_shared/api-error.ts";
import { answer, endpoint } from "../../_shared/endpoint.ts";
import {
  allowedOrigins,
  createApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
} from "../../_shared/statements/admin.ts";

const tag = "Administration";

/** The key as the database shows it, and its secret, this once. */
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
    answers: { 200: apiKeyListAnswer },
    call: () => [listApiKeys()],
    respond: ([[keys]]) => answer(200, keys?.data ?? "[]"),
  }),
  endpoint({
    method: "post",
    path: "/admin/api-keys",
    tag,
    access: "person",
    summary: "Make a key; its secret is shown this once",
    body: apiKeyCreate,
    answers: { 201: newApiKeyAnswer },
    prepare: () => newApiKey(orgKeyPrefix),
    call: ({ body, prepared }) => [createApiKey(body, prepared)],
    respond: ([[key]], { prepared }) => answer(201, withSecret(key?.data, prepared.secret)),
  }),
  endpoint({
    method: "post",
    path: "/admin/api-keys/:id/rotate",
    tag,
    access: "person",
    summary: "Give a key a new secret; the old one stays valid for a while",
    body: apiKeyRotate,
    answers: { 201: newApiKeyAnswer },
    prepare: () => newApiKey(orgKeyPrefix),
    call: ({ params, body, prepared }) => [rotateApiKey(params.id, body, prepared)],
    respond: ([[key]], { prepared }) => answer(201, withSecret(key?.data, prepared.secret)),
  }),
  endpoint({
    method: "delete",
    path: "/admin/api-keys/:id",
    tag,
    access: "person",
    summary: "Revoke a key, at once and for good",
    answers: { 200: apiKeyAnswer },
    call: ({ params }) => [revokeApiKey(params.id)],
    respond: ([[key]]) => {
      if (!key?.data) throw notFound("key");
      return answer(200, key.data);
    },
  }),
  endpoint({
    method: "get",
    path: "/admin/origins",
    tag,
    access: "caller",
    scopes: ["organization:write"],
    summary: "List the origins whose pages may call, as an admin",
    answers: { 200: originsAnswer },
    call: () => [allowedOrigins(null)],
    respond: ([[origins]]) => answer(200, origins?.data ?? "{}"),
  }),
  endpoint({
    method: "put",
    path: "/admin/origins",
    tag,
    access: "caller",
    scopes: ["organization:write"],
    summary: "Set the origins whose pages may call, as an admin",
    body: originsUpdate,
    answers: { 200: originsAnswer },
    call: ({ body }) => [allowedOrigins(body.origins)],
    respond: ([[origins]]) => answer(200, origins?.data ?? "{}"),
  }),
];
