import { newApiKey, signingPrefix } from "../../shared/api-keys.ts";
import {
  identifyAnswer,
  identifyBody,
  identifyCheckAnswer,
  identifySecretDeletedAnswer,
  identifySecretListAnswer,
  newIdentifySecretAnswer,
  signedOutAnswer,
} from "../../shared/identify.ts";
import { checkToken, identify as openIdentified } from "../_shared/callers/identify.ts";
import { encryptSecret } from "../_shared/callers/stored-secrets.ts";
import { notFound } from "../_shared/http/api-error.ts";
import { dataResponse, endpoint, workEndpoint } from "../_shared/http/endpoint.ts";
import { readCredentialOf } from "../_shared/http/request.ts";
import {
  createIdentifySecret,
  deleteIdentifySecret,
  endSession,
  listIdentifySecrets,
  ownSigner,
} from "../_shared/statements/identify.ts";
import { withSecret } from "./admin.ts";

const tag = "Identify";

export const identify = [
  workEndpoint({
    method: "post",
    path: "/identify",
    tag,
    access: "public",
    operation: "token_exchange",
    summary: "Exchange a token of the organization's backend for a session",
    body: identifyBody,
    responses: { 201: identifyAnswer },
    work: async ({ input: { body }, execute }) => {
      // Admits and charges the request before anything else is done.
      await execute([]);
      const { secret, data } = await openIdentified(body.token);
      return dataResponse(201, JSON.stringify({ access_token: secret, ...JSON.parse(data) }));
    },
  }),
  workEndpoint({
    method: "post",
    path: "/identify/sign-out",
    tag,
    access: "person",
    summary: "End the session of an identified person",
    responses: { 200: signedOutAnswer },
    work: async ({ request, execute }) => {
      const credential = await readCredentialOf(request.headers);
      if (credential.kind !== "session") {
        await execute([]);
        return dataResponse(200, JSON.stringify({ signed_out: false }));
      }
      const [[row]] = await execute([endSession(credential.digest)]);
      return dataResponse(200, JSON.stringify({ signed_out: row?.ended === true }));
    },
  }),
];

export const adminIdentify = [
  endpoint({
    method: "get",
    path: "/admin/identify-secrets",
    tag,
    access: "person",
    summary: "List the organization's signing secrets, as an admin",
    responses: { 200: identifySecretListAnswer },
    call: () => [listIdentifySecrets()],
    respond: ([[secrets]]) => dataResponse(200, secrets?.data ?? "[]"),
  }),
  endpoint({
    method: "post",
    path: "/admin/identify-secrets",
    tag,
    access: "person",
    summary: "Create a signing secret (at most two); it is returned once",
    responses: { 201: newIdentifySecretAnswer },
    showsSecret: true,
    prepare: () => newApiKey(signingPrefix),
    call: ({ newId, prepared: { secret, lastFour } }) => [
      createIdentifySecret(newId, encryptSecret(secret, newId), lastFour),
    ],
    respond: ([[made]], { prepared }) => dataResponse(201, withSecret(made?.data, prepared.secret)),
  }),
  endpoint({
    method: "delete",
    path: "/admin/identify-secrets/:id",
    tag,
    access: "person",
    summary: "Delete a signing secret and end the sessions that it opened",
    responses: { 200: identifySecretDeletedAnswer },
    call: ({ params }) => [deleteIdentifySecret(params.id)],
    respond: ([[row]], { params }) => {
      if (!row?.deleted) throw notFound("signing secret");
      return dataResponse(200, JSON.stringify({ id: params.id, deleted: true }));
    },
  }),
  workEndpoint({
    method: "post",
    path: "/admin/identify-secrets/check",
    tag,
    access: "person",
    summary: "Check a token without opening a session, as an admin",
    body: identifyBody,
    responses: { 200: identifyCheckAnswer },
    work: async ({ input: { body }, execute }) => {
      const [[signer]] = await execute([ownSigner()]);
      if (!signer?.data) throw notFound("organization");
      return dataResponse(200, JSON.stringify(await checkToken(signer.data, body.token)));
    },
  }),
];
