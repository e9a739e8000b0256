import type { Secrets } from "./data-folder.ts";

export function authConfig(secrets: Secrets, siteUrl: string) {
  return {
    enabled: true,
    jwt_secret: secrets.jwt_secret,
    publishable_key: secrets.publishable_key,
    secret_key: secrets.secret_key,
    site_url: siteUrl,
    email: { enable_signup: true, enable_confirmations: false },
  };
}
