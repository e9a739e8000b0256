import type { Secrets } from "./data-folder.ts";

/** The iss of access tokens: without a port, so that sessions outlive a change of it. Each data folder has a secret of its own. */
export const tokenIssuer = "http://127.0.0.1/auth/v1";

export function authConfig(secrets: Secrets, siteUrl: string) {
  return {
    enabled: true,
    jwt_secret: secrets.jwt_secret,
    publishable_key: secrets.publishable_key,
    secret_key: secrets.secret_key,
    site_url: siteUrl,
    // A refresh token that was used ends its session when it comes again, but for the last one: its answer may be lost.
    enable_refresh_token_rotation: true,
    email: { enable_signup: true, enable_confirmations: false },
  };
}
