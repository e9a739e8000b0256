// The paths of /auth/v1 and /rest/v1 that are served, as they are spelled on the wire: no encoding, no dots, no second slash.

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
