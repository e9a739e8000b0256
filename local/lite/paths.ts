// In their exact spelling: no encoding, no dots, no double slashes.
const path = new RegExp(
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

export const isAuthPath = (text: string) => path.test(text);
