// Served paths of /auth/v1 and /rest/v1 in their exact spelling: no encoding, no dots, no double slashes.

const authPath = new RegExp(
  `^/auth/v1/(?:${[
    "authorize",
    "callback",
    "health",
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
const restPath = /^\/rest\/v1\/(?:rpc\/[A-Za-z_]\w*|[A-Za-z_]\w*)?$/;

export type LiteName = "auth" | "rest";

export const isServedBy = (name: LiteName, path: string) =>
  (name === "auth" ? authPath : restPath).test(path);
