import { environment } from "../_shared/runtime/environment.ts";

const supabase = new URL(environment.supabaseUrl);
const realtime = `${supabase.protocol === "https:" ? "wss" : "ws"}://${supabase.host}`;

// Turbo inserts the constant style of its progress bar.
const styleOfTurbo = "'sha256-WAyOw4V+FqDc35lQPyRADLBWbuNK8ahvYEaQIYF1+Ps='";

/**
 * The content security policy, with the origins that may embed the page, none without origins, and those of a CAPTCHA,
 * whose script and frame the page shows.
 */
export const contentSecurityPolicy = (frameAncestors: readonly string[] = [], captcha: readonly string[] = []) =>
  [
    "default-src 'self'",
    ...(captcha.length > 0 ? ["script-src", "frame-src"] : []).map((name) => [name, "'self'", ...captcha].join(" ")),
    ["style-src 'self'", styleOfTurbo, ...captcha].join(" "),
    [`connect-src 'self' ${supabase.origin} ${realtime}`, ...captcha].join(" "),
    // Admins choose the URLs of logos; components/avatar.tsx chooses whose pictures are shown.
    "img-src 'self' https: data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    `frame-ancestors ${frameAncestors.join(" ") || "'none'"}`,
  ].join("; ");

export const securityHeaders = {
  "Content-Security-Policy": contentSecurityPolicy(),
  "Cache-Control": "no-store",
  "Referrer-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
};
