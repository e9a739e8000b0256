import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { messagesOf } from "../../functions/words/index.ts";
import { type OwnStack, startOwnStack } from "../own-stack.ts";
import { newVisitor } from "./pages.ts";
import { type RecordedAuth, refusal, startRecordedAuth } from "./recorded-auth.ts";

// The widgets of CAPTCHA providers, with a stand-in for auth. Their own scripts are not loaded.

const { account } = messagesOf("en");
const forms = ["/sign-in", "/sign-up", "/sign-in/email", "/reset"];
const fields = { email: "a@person.example", password: "correct horse battery", name: "Ann" };

describe.each([
  ["turnstile", ".cf-turnstile", "cf-turnstile-response", "https://challenges.cloudflare.com"],
  ["hcaptcha", ".h-captcha", "h-captcha-response", "https://*.hcaptcha.com"],
] as const)("the widget of %s", (provider, widget, field, origin) => {
  let auth: RecordedAuth;
  let own: OwnStack;
  beforeAll(async () => {
    auth = await startRecordedAuth(() => own.supabase_url);
    own = await startOwnStack({
      parts: ["auth", "web"],
      functionsEnvironment: {
        SUPABASE_URL: auth.url,
        SUPABASE_INTERNAL_URL: auth.url,
        AUTH_API_KEY: "sb_secret_of_the_pages",
        CAPTCHA_PROVIDER: provider,
        CAPTCHA_SITE_KEY: "site-key",
      },
    });
  });
  afterAll(async () => {
    await own?.remove();
    await auth?.stop();
  });

  test("is in the four forms only, which alone allow its script", async () => {
    for (const path of [...forms, "/sign-in/code", "/reset/code"]) {
      const { html, headers } = await newVisitor([], own.site_url).get(path);
      const is = forms.includes(path);
      expect(html.querySelector(`form ${widget}`)?.getAttribute("data-sitekey"), path).toBe(
        is ? "site-key" : undefined,
      );
      expect(html.querySelector("form noscript")?.text.includes(account.captchaScript) ?? false).toBe(is);
      const policy = String(headers["content-security-policy"]);
      expect(/script-src ([^;]*)/.exec(policy)?.[1]?.includes(origin) ?? false).toBe(is);
      expect(/frame-src ([^;]*)/.exec(policy)?.[1]?.includes(origin) ?? false).toBe(is);
      const scripts = html.querySelectorAll("script[src^=https]").map((script) => script.getAttribute("src"));
      expect(scripts).toHaveLength(is ? 1 : 0);
    }
  });

  test("gives its answer to auth, which is asked with the publishable key, so that it checks", async () => {
    const failed = refusal(400, "captcha_failed", "captcha protection: request disallowed (invalid-input-response)");
    const ask = async (path: string) => {
      const email = `${randomUUID()}@person.example`;
      const answers = { "/token": failed, "/signup": failed, "/otp": failed, "/recover": failed };
      const asked = auth.answersAbout(email, answers);
      const visitor = newVisitor([], own.site_url);
      const sent = { ...fields, email, [field]: "answer" };
      const refused = await visitor.post(path, sent, { origin: own.site_url });
      expect([refused.status, refused.html.querySelector("[role=alert]")?.text]).toEqual([422, account.captcha]);
      expect(asked.map(({ apikey, body }) => [apikey, body.gotrue_meta_security])).toEqual([
        [own.publishable_key, { captcha_token: "answer" }],
      ]);
    };
    await Promise.all(forms.map(ask));
  });

  test("is used up at a sign-up: the code for the owner of an account is asked for with the secret key", async () => {
    auth.answers({
      "/signup": { status: 200, body: { id: "b1b8ba10-3b1c-4a4e-8f77-5c2a39b7a4f0", identities: [] } },
      "/otp": { status: 200, body: {} },
    });
    await newVisitor([], own.site_url).post("/sign-up", { ...fields, [field]: "answer" }, { origin: own.site_url });
    expect(auth.asked.map(({ apikey }) => apikey)).toEqual([own.publishable_key, "sb_secret_of_the_pages"]);
  });

  test("protects no code: it is tried with the secret key, so that each visitor has an own limit at auth", async () => {
    auth.answers({ "/verify": refusal(403, "otp_expired", "Token has expired or is invalid") });
    const code = { email: fields.email, code: "123456" };
    await newVisitor([], own.site_url).post("/sign-in/code", code, { origin: own.site_url });
    expect(auth.asked.map(({ apikey }) => apikey)).toEqual(["sb_secret_of_the_pages"]);
  });
});
