import { randomUUID } from "node:crypto";
import { SignJWT } from "jose";
import { identifyAnswer, newIdentifySecretAnswer } from "../../shared/identify.ts";
import { api, expectJson } from "./client.ts";
import type { Organization, User } from "./world.ts";

/** A signing secret made by an admin of the organization. */
export async function newSecret(on: Organization, as: User): Promise<{ id: string; secret: string }> {
  const answer = await api("POST", "/api/admin/identify-secrets", { as, on, body: {} });
  return expectJson(answer, 201, newIdentifySecretAnswer).data;
}

export const nowSeconds = () => Math.floor(Date.now() / 1000);

export const claimsOf = (organization: Organization, changes: Record<string, unknown> = {}) => ({
  sub: randomUUID(),
  email: `${randomUUID()}@host.example`,
  name: "Grace Host",
  aud: organization.slug,
  iat: nowSeconds(),
  exp: nowSeconds() + 600,
  ...changes,
});

/** A token as a host's backend signs it. A claim that is undefined is left out. */
export const signed = (claims: object, secret: string, header: Record<string, unknown> = {}) =>
  new SignJWT({ ...claims })
    .setProtectedHeader({ alg: "HS256", typ: "JWT", ...header })
    .sign(new TextEncoder().encode(secret));

export const exchange = (token: unknown, on?: Organization) => api("POST", "/api/identify", { on, body: { token } });

/** A session of a person whom the organization identified. */
export async function identified(organization: Organization, secret: string, changes: Record<string, unknown> = {}) {
  const answer = await exchange(await signed(claimsOf(organization, changes), secret));
  const { access_token, ...rest } = expectJson(answer, 201, identifyAnswer).data;
  return { token: access_token, ...rest };
}
