import { environment } from "../../_shared/runtime/environment.ts";
import type { View } from "../page.tsx";
import { contentSecurityPolicy } from "../security.ts";
import type { Visit } from "../visit.ts";

// The CAPTCHA of auth, if the project has one: docs/deploy.md.

const providers = {
  turnstile: {
    script: "https://challenges.cloudflare.com/turnstile/v0/api.js",
    widget: "cf-turnstile",
    origins: ["https://challenges.cloudflare.com"],
  },
  hcaptcha: {
    script: "https://js.hcaptcha.com/1/api.js",
    widget: "h-captcha",
    origins: ["https://hcaptcha.com", "https://*.hcaptcha.com"],
  },
} as const;

const { captcha } = environment;
const provider = captcha && providers[captcha.provider];

/** Head and policy of a page with the widget. A page that Turbo shows would keep the policy of the page before. */
export const captchaHead = (): Pick<View, "head" | "headers"> =>
  provider
    ? {
        head: (
          <>
            <meta name="turbo-visit-control" content="reload" />
            <script src={provider.script} async defer />
          </>
        ),
        headers: { "Content-Security-Policy": contentSecurityPolicy([], provider.origins) },
      }
    : {};

/** The widget adds its answer to the form as a field. */
export const Captcha = ({ visit }: { visit: Visit }) =>
  provider ? (
    <>
      <div
        class={provider.widget}
        data-sitekey={captcha.siteKey}
        data-theme={visit.theme ?? (captcha.provider === "turnstile" ? "auto" : "light")}
        data-language={visit.locale.toLowerCase()}
        data-hl={visit.locale}
        data-size={captcha.provider === "turnstile" ? "flexible" : "normal"}
      />
      <noscript>
        <p class="notice problem">{visit.messages.account.captchaScript}</p>
      </noscript>
    </>
  ) : null;

/** The answer, which auth checks with the provider. */
export function captchaToken({ form }: Visit): string | undefined {
  const answer = provider && form instanceof URLSearchParams && form.get(`${provider.widget}-response`);
  return answer || undefined;
}
