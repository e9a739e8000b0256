import type { Secrets } from "../data-folder.ts";

/** All that auth and the data API need to know. */
export type LiteSecrets = Pick<Secrets, "jwt_secret" | "publishable_key" | "secret_key">;

export function authConfig(secrets: LiteSecrets, siteUrl: string) {
  return {
    enabled: true,
    jwt_secret: secrets.jwt_secret,
    publishable_key: secrets.publishable_key,
    secret_key: secrets.secret_key,
    site_url: siteUrl,
    email: { enable_signup: true, enable_confirmations: false },
  };
}
