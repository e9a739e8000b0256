import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findingOf } from "../../local/operator/deploy/check.ts";
import { authSettings, type Check, type Checked, signingKeys } from "../../local/operator/deploy/checks.ts";
import { recordedAuth } from "./project.ts";

// A stand-in for auth with answers of Supabase Auth 2.196, behind a gateway that requires an API key.
const settingsOf = "/auth/v1/settings";
const tokenOf = "/auth/v1/token?grant_type=password";
const keysOf = "/auth/v1/.well-known/jwks.json";
const withKeys = {
  keys: [{ alg: "ES256", crv: "P-256", key_ops: ["verify"], kid: "one", kty: "EC", use: "sig", x: "b1", y: "pi" }],
};
const captchaFailed = {
  code: 400,
  error_code: "captcha_failed",
  msg: "captcha protection: request disallowed (no captcha_token found)",
};

let server: Server;
let origin: string;
let answers: Record<string, object>;
let pages: string;
let asked: { method: string; url: string; body: string }[];

beforeAll(async () => {
  server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { method = "", url = "", headers } = request;
    asked.push({ method, url, body });
    const isOpen = url === keysOf || !url.startsWith("/auth/v1");
    if (!isOpen && headers.apikey !== "sb_publishable_x")
      return void response.writeHead(401).end('{"message":"Invalid API key"}');
    response.end(url === "/" ? pages : JSON.stringify(answers[url]));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());
beforeEach(() => {
  answers = { ...recordedAuth, [keysOf]: withKeys };
  asked = [];
  pages = "";
});

const check = async (one: Check, project: Partial<Checked> = {}) => {
  const given = { api: `${origin}/functions/v1/api`, publishableKey: "sb_publishable_x", secrets: {}, ...project };
  const found = await findingOf(one, given as Checked);
  return found && { ok: found.ok, result: found.result };
};
const settings = (project?: Partial<Checked>) => check(authSettings, project);
const keys = (project?: Partial<Checked>) => check(signingKeys, project);
const having = (change: object) => {
  answers[settingsOf] = { ...recordedAuth[settingsOf], ...change };
};
const complete = { AUTH_ADDRESS_HEADER: "sb-forwarded-for", AUTH_API_KEY: "sb_secret_x" };

describe("the settings of auth", () => {
  test("without a problem; nothing is written", async () => {
    expect(await keys({ secrets: complete })).toEqual({ ok: true, result: "ES256" });
    expect(await settings({ secrets: complete })).toEqual({ ok: true, result: "addresses are confirmed" });
    expect(asked.map(({ method, url, body }) => `${method} ${url} ${body}`.trim()).sort()).toEqual([
      `GET ${keysOf}`,
      `GET ${settingsOf}`,
      `POST ${tokenOf} {}`,
    ]);
  });

  test("addresses that are confirmed unseen are an error", async () => {
    having({ mailer_autoconfirm: true });
    expect(await settings()).toEqual({
      ok: false,
      result: expect.stringMatching(/mailer_autoconfirm.*Confirm email$/),
    });
  });

  test("a provider with a button on the pages, which auth has off, is an error", async () => {
    const secrets = { ...complete, SIGN_IN_PROVIDERS: "github,google" };
    having({ external: { email: true, github: true, google: false } });
    expect(await settings({ secrets })).toEqual({
      ok: false,
      result: "SIGN_IN_PROVIDERS names google, off in auth: enable or remove it",
    });
    having({ external: { email: true, github: true, google: true } });
    expect((await settings({ secrets }))?.ok).toBe(true);
  });

  test("reports disabled sign-ups, disabled e-mail and a shared limit", async () => {
    having({ disable_signup: true, external: { email: false } });
    expect(await settings({ secrets: { SITE_URL: "https://feedback.example.org" } })).toEqual({
      ok: true,
      result:
        "addresses are confirmed; sign-ups are off; email is off: the pages sign in by providers only; AUTH_ADDRESS_HEADER and AUTH_API_KEY are not both set: auth limits all visitors of the pages as one",
    });
  });

  test("a CAPTCHA that the pages do not show is an error", async () => {
    answers[tokenOf] = captchaFailed;
    const secrets = { SITE_URL: "https://feedback.example.org" };
    expect(await settings({ secrets })).toEqual({
      ok: false,
      result: expect.stringMatching(/CAPTCHA that the pages do not show.*CAPTCHA_PROVIDER and CAPTCHA_SITE_KEY$/),
    });
    const shown = { ...secrets, CAPTCHA_PROVIDER: "turnstile", CAPTCHA_SITE_KEY: "0x4AAA" };
    expect(await settings({ secrets: { ...complete, ...shown } })).toEqual({
      ok: true,
      result: expect.stringContaining("CAPTCHA is on, and the pages show it"),
    });
    expect((await settings({ secrets: complete }))?.result).toContain("auth skips it for the pages");
    // Without the file of step 4, the check can only report the requirement.
    expect(await settings({ secrets: {} })).toEqual({
      ok: true,
      result: expect.stringContaining("the pages need CAPTCHA_PROVIDER and CAPTCHA_SITE_KEY"),
    });
  });
});

describe("the publishable key", () => {
  test("is given, in the file of step 4, or on the pages", async () => {
    const secrets = { ...complete, SUPABASE_PUBLISHABLE_KEYS: '{"default":"sb_publishable_x"}' };
    expect((await settings({ publishableKey: undefined, secrets }))?.ok).toBe(true);
    pages = `<main data-url="${origin}" data-key="sb_publishable_x">`;
    expect((await settings({ publishableKey: undefined }))?.ok).toBe(true);
  });

  test("asks for a missing key, and reports a wrong one", async () => {
    expect(await settings({ publishableKey: undefined })).toEqual({
      ok: false,
      result: "not checked: pass the publishable key too, after the API's URL",
    });
    expect((await settings({ publishableKey: "sb_publishable_y" }))?.result).toBe(
      "auth rejects the publishable key: pass that of this project",
    );
    expect((await keys({ publishableKey: undefined }))?.result).toBe("ES256");
  });
});

describe("the keys of auth", () => {
  test("an empty set without JWT_SECRET is an error", async () => {
    answers[keysOf] = { keys: [] };
    expect(await keys({ secrets: complete })).toEqual({
      ok: false,
      result: expect.stringMatching(/^auth signs with the shared secret.*JWT_SECRET is not set/),
    });
    expect(await keys({ secrets: { ...complete, JWT_SECRET: "secret" } })).toEqual({
      ok: true,
      result: "the shared secret, JWT_SECRET",
    });
  });

  test("reports JWT_SECRET beside published keys", async () => {
    expect(await keys({ secrets: { ...complete, JWT_SECRET: "secret" } })).toEqual({
      ok: true,
      result: expect.stringMatching(/^ES256; JWT_SECRET is needed only until/),
    });
  });
});
