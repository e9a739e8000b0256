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
const missing: Record<string, readonly [code: string, message: string]> = {
  factors: ["mfa_totp_enroll_not_enabled", "The embedded auth offers no second factor."],
  identities: ["manual_linking_disabled", "Manual linking is disabled"],
  oauth: ["feature_disabled", "OAuth server is disabled"],
  passkeys: ["passkey_disabled", "Passkeys are disabled"],
  sso: ["saml_provider_disabled", "SAML 2.0 is disabled"],
};

/** The code and the message for a path that is not served. */
export function missingPath(text: string): { authCode: string; message: string } {
  const part = text.split("/").find((name) => Object.hasOwn(missing, name)) ?? "";
  const [authCode, message] = missing[part] ?? ["not_found", "The route does not exist."];
  return { authCode, message };
}
