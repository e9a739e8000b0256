// In their exact spelling: no encoding, no dots, no double slashes.
const path = new RegExp(
  `^/auth/v1/(?:${[
    "admin/generate_link",
    "admin/users",
    "admin/users/[\\w-]+",
    "authorize",
    "callback",
    "health",
    "invite",
    "logout",
    "magiclink",
    "otp",
    "reauthenticate",
    "recover",
    "resend",
    "settings",
    "signup",
    "token",
    "user",
    "verify",
    "\\.well-known/jwks\\.json",
    "\\.well-known/openid-configuration",
  ].join("|")})$`,
);

export const isAuthPath = (text: string) => path.test(text);

/** Paths that require the secret key. */
export const isAdminPath = (text: string) => /^\/auth\/v1\/(?:admin\/|invite$)/.test(text);

/** Parts of auth that are off here, with the codes by which clients know them. */
const missing = [
  [/^factors$/, "mfa_totp_enroll_not_enabled", "The embedded auth offers no second factor."],
  [
    /^(?:admin\/users\/[^/]+\/)?factors/,
    "mfa_factor_not_found",
    "The embedded auth offers no second factor.",
  ],
  [/^(?:admin\/)?sso/, "saml_provider_disabled", "SAML 2.0 is disabled"],
  [/^user\/identities/, "manual_linking_disabled", "Manual linking is disabled"],
  [/^passkeys/, "passkey_disabled", "Passkeys are disabled"],
  [/^(?:user\/|admin\/)?oauth/, "feature_disabled", "OAuth server is disabled"],
] as const;

/** The code and the message for a path that is not served. */
export function missingPath(text: string): { authCode: string; message: string } {
  const rest = text.replace("/auth/v1/", "");
  const [, authCode, message] = missing.find(([start]) => start.test(rest)) ?? [];
  return { authCode: authCode ?? "not_found", message: message ?? "The route does not exist." };
}
