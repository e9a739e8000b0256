import type { Secrets } from "../folders/data-folder.ts";

/**
 * Issuer of access tokens: without a port, so that sessions survive a change of port. Each data folder has its own
 * secret.
 */
export const tokenIssuer = "http://127.0.0.1/auth/v1";

export type LiteSecrets = Pick<Secrets, "jwt_secret" | "publishable_key" | "secret_key">;

export function authConfig(secrets: LiteSecrets, siteUrl: string, sendsMail = false) {
  return {
    enabled: true,
    jwt_secret: secrets.jwt_secret,
    publishable_key: secrets.publishable_key,
    secret_key: secrets.secret_key,
    site_url: siteUrl,
    // Reusing a refresh token ends its session, except for the latest one, whose response may have been lost.
    enable_refresh_token_rotation: true,
    email: { enable_signup: true, enable_confirmations: sendsMail, double_confirm_changes: true },
  };
}
