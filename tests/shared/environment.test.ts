import { afterEach, expect, test, vi } from "vitest";

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
  ["SITE_URL", "feedback.example.org", 'SITE_URL is "feedback.example.org": set it to an address such as'],
  ["CAPTCHA_PROVIDER", "recaptcha", 'CAPTCHA_PROVIDER is "recaptcha": set it to turnstile or hcaptcha'],
  ["SUPABASE_PUBLISHABLE_KEYS", "sb_publishable_x", "SUPABASE_PUBLISHABLE_KEYS is not JSON: set it to an object"],
])("%s=%s is refused with what is wrong", async (name, value, message) => {
  await expect(environmentWith({ [name]: value })).rejects.toThrow(message);
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
