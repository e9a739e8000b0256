import { randomUUID } from "node:crypto";
import { verifySignature, WebhookVerificationError } from "../../../shared/verify-webhook.ts";
import { ApiError, invalid } from "../http/api-error.ts";
import { readText } from "../http/body.ts";
import { errorResponse } from "../http/error-response.ts";

/**
 * Handles calls that another service signs by Standard Webhooks; 404 without a secret. Several secrets are separated by
 * |, like those of Supabase's hooks.
 */
export function signedWebhook(
  secrets: string | undefined,
  work: (body: unknown) => Promise<Response>,
): (request: Request) => Promise<Response> {
  const known = (secrets ?? "")
    .split("|")
    .map((secret) => secret.trim().replace(/^v1,/, ""))
    .filter(Boolean);
  return async (request) => {
    if (known.length === 0) return new Response(null, { status: 404 });
    if (request.method !== "POST") return new Response(null, { status: 405, headers: { Allow: "POST" } });
    try {
      return await work(await read(request, known));
    } catch (error) {
      const { status, json, headers } = errorResponse(error, randomUUID(), false);
      return new Response(json, { status, headers: { ...headers, "Content-Type": "application/json" } });
    }
  };
}

async function read(request: Request, secrets: readonly string[]): Promise<unknown> {
  const body = await readText(request);
  const headers = new Headers(request.headers);
  // Svix, which Resend uses, names the same headers differently.
  for (const name of ["id", "timestamp", "signature"]) {
    const value = headers.get(`svix-${name}`);
    if (value && !headers.has(`webhook-${name}`)) headers.set(`webhook-${name}`, value);
  }
  try {
    return JSON.parse(await verifySignature({ body, headers }, secrets));
  } catch (error) {
    if (error instanceof WebhookVerificationError) throw new ApiError("UNAUTHORIZED", "The signature is not valid.");
    throw invalid("body", "is not valid JSON");
  }
}
