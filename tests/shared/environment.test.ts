import { afterEach, expect, test, vi } from "vitest";
import { type Checked, site } from "../../local/operator/deploy/checks.ts";
import { startSettings } from "../../local/start-settings.ts";

async function environmentWith(variables: Record<string, string>) {
  vi.resetModules();
  vi.stubGlobal("Deno", { env: { get: (name: string) => variables[name] } });
  const module = (await import(new URL("../../functions/_shared/runtime/environment.ts", import.meta.url).href)) as {
    environment: Record<string, unknown>;
  };
  return module.environment;
}

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

test.each([
  ["MAIL_FROM", "nobody", 'MAIL_FROM is "nobody": set it to an address such as'],
  ["MAIL_TIMEOUT_SECONDS", "20s", 'MAIL_TIMEOUT_SECONDS is "20s": set it to a number'],
  [
    "SITE_URL",
    "feedback.example.org",
    'SITE_URL is "feedback.example.org": set it to an address without a path, such as',
  ],
  ["SUPABASE_URL", "feedback.example.org", 'SUPABASE_URL is "feedback.example.org": set it to an address such as'],
  ["CAPTCHA_PROVIDER", "recaptcha", 'CAPTCHA_PROVIDER is "recaptcha": set it to turnstile or hcaptcha'],
  ["SUPABASE_PUBLISHABLE_KEYS", "sb_publishable_x", "SUPABASE_PUBLISHABLE_KEYS is not JSON: set it to an object"],
])("%s=%s is refused with what is wrong", async (name, value, message) => {
  await expect(environmentWith({ [name]: value })).rejects.toThrow(message);
});

test.each([
  ["https://feedback.example.org", "https://feedback.example.org"],
  ["https://feedback.example.org/", "https://feedback.example.org"],
  ["http://127.0.0.1:8000//", "http://127.0.0.1:8000"],
  ["HTTPS://Feedback.Example.org:443", "https://feedback.example.org"],
  ["https://r\u00fcckmeldung.example", "https://xn--rckmeldung-9db.example"],
])("SITE_URL=%s is the site %s", async (value, siteUrl) => {
  expect(await environmentWith({ SITE_URL: value })).toMatchObject({ siteUrl });
  vi.stubEnv("SITE_URL", value);
  expect(startSettings()).toMatchObject({ siteUrl });
  vi.unstubAllEnvs();
});

test.each([
  "https://example.com/feedback",
  "https://example.com/feedback/",
  "https://example.com//feedback",
  "https://example.com?board=1",
  "https://example.com/?",
  "https://example.com/#board",
  "https://name:secret@example.com",
  "https://name@example.com/",
  "ftp://example.com",
  "javascript:alert(1)",
  "//example.com",
  "example.com",
  "https://",
])("SITE_URL=%s is refused by the start, the functions and deploy:check", async (value) => {
  const sentence = `SITE_URL is ${JSON.stringify(value)}: set it to an address without a path, such as https://feedback.example.org`;
  await expect(environmentWith({ SITE_URL: value })).rejects.toThrow(sentence);
  vi.stubEnv("SITE_URL", value);
  expect(startSettings).toThrow(sentence);
  vi.unstubAllEnvs();
  await expect(site.holds({ secrets: { SITE_URL: value } } as Partial<Checked> as Checked)).rejects.toThrow(sentence);
});

test.each([
  "feedback@mail.example",
  "Feedback <feedback@mail.example>",
  '"Feedback, Ltd." <feedback@mail.example>',
  " <feedback@mail.example> ",
])("MAIL_FROM=%s is the address", async (value) => {
  expect(await environmentWith({ MAIL_FROM: value })).toMatchObject({ mailFrom: "feedback@mail.example" });
});

test("lists may have blanks, and hosts the name of the variable in version 0.1.0", async () => {
  const variables = { ALLOWED_HOSTS: "a.example, b.example", MCP_ALLOWED_HOSTS: "c.example" };
  expect(await environmentWith({ ...variables, SIGN_IN_PROVIDERS: "google, github" })).toMatchObject({
    allowedHosts: ["a.example", "b.example", "c.example"],
    signInProviders: ["github", "google"],
  });
});
