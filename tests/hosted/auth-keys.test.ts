import { randomUUID } from "node:crypto";
import { Agent } from "node:http";
import { base64url, exportSPKI, importJWK } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { denoProgram, type Functions } from "../../local/functions/process.ts";
import { send } from "../http.ts";
import { makeKey, type Project, startProject } from "./project.ts";

// Keys of auth: an access token is valid, invalid, or neither while its key is not known. Auth is a stand-in.

let project: Project;
const person = randomUUID();
const agent = new Agent();

beforeAll(async () => {
  project = await startProject();
  await project.sql`insert into auth.users (id, email, email_confirmed_at, aud, role)
    values (${person}, 'ada@test.example', now(), 'authenticated', 'authenticated')`;
  await project.sql`insert into public.organizations (slug, name, is_default) values ('acme', 'Acme', true)`;
});
afterAll(() => project?.remove());
beforeEach(() => {
  const { known, rotated } = project.keys;
  Object.assign(project.published, { keys: [known.published, rotated.published], isAway: false });
});

const withApi = async (environment: Record<string, string>, use: (api: Functions) => Promise<void>) => {
  const api = await project.start("api", { program: denoProgram(), environment });
  try {
    await use(api);
  } finally {
    await api.stop();
  }
};
const unset = { SUPABASE_JWKS: "", JWT_SECRET: "" };
const statusOf = async (api: Functions, token: string) => {
  const answer = await send("GET", `http://127.0.0.1:${api.port}/api/me/notifications`, { agent, token });
  return { status: answer.status, retryAfter: answer.headers["retry-after"] };
};

describe("the keys of auth", () => {
  test("that cannot be fetched make a token neither valid nor invalid: 503 with Retry-After", () =>
    withApi(unset, async (api) => {
      const token = await project.signIn(person, project.keys.known);
      project.published.isAway = true;
      expect(await statusOf(api, token)).toEqual({ status: 503, retryAfter: "1" });
      project.published.isAway = false;
      expect((await statusOf(api, token)).status).toBe(200);
      // Known keys stay when auth goes away again.
      project.published.isAway = true;
      expect((await statusOf(api, token)).status).toBe(200);
    }));

  test("are fetched again for a new key at once, and a key that was removed is not valid then", () =>
    withApi(unset, async (api) => {
      const [first, second] = await Promise.all([makeKey("first"), makeKey("second")]);
      project.published.keys = [first.published];
      const old = await project.signIn(person, first);
      expect((await statusOf(api, old)).status).toBe(200);
      project.published.keys = [second.published];
      const token = await project.signIn(person, second);
      expect((await statusOf(api, token)).status).toBe(200);
      expect((await statusOf(api, old)).status).toBe(401);
    }));

  test("replace those of SUPABASE_JWKS once auth was asked", () =>
    withApi({ JWT_SECRET: "" }, async (api) => {
      const token = await project.signIn(person, project.keys.known);
      expect((await statusOf(api, token)).status).toBe(200);
      project.published.keys = [project.keys.rotated.published];
      expect((await statusOf(api, await project.signIn(person, project.keys.rotated))).status).toBe(200);
      expect((await statusOf(api, token)).status).toBe(401);
    }));

  test("cannot be asked for without limit: tokens of many made-up keys get 401, then 503, and others are served", () =>
    withApi(unset, async (api) => {
      const forger = await makeKey("forged");
      const answers = new Set<number>();
      for (let index = 0; index < 15; index++) {
        const token = await project.signIn(person, { ...forger, kid: `forged ${index}` });
        answers.add((await statusOf(api, token)).status);
      }
      expect([...answers]).toEqual([401, 503]);
      const again = await project.signIn(person, { ...forger, kid: "forged 0" });
      expect([401, 503]).toContain((await statusOf(api, again)).status);
      expect((await statusOf(api, await project.signIn(person, project.keys.known))).status).toBe(200);
    }));

  test("that do not exist mean the project's secret: without it a token is neither, and ready and the log say why", () =>
    withApi(unset, async (api) => {
      project.published.keys = [];
      const token = await project.signIn(person, project.keys.shared);
      expect((await statusOf(api, token)).status).toBe(503);
      const ready = await send("GET", `http://127.0.0.1:${api.port}/api/ready`, { agent });
      expect(JSON.parse(ready.text)).toMatchObject({ unset_variables: expect.arrayContaining(["JWT_SECRET"]) });
      const log = await (api as Functions & { log(): Promise<string> }).log();
      expect(log.match(/set JWT_SECRET/g)).toHaveLength(1);
    }));

  test("never make a token of the secret's algorithm valid where the project has keys", () =>
    withApi(unset, async (api) => {
      expect((await statusOf(api, await project.signIn(person, project.keys.shared))).status).toBe(401);
    }));
});

describe("a key", () => {
  test.each(["ES256", "RS256", "EdDSA"])("of %s verifies tokens that it signed, and no others", (alg) =>
    withApi(unset, async (api) => {
      const [first, second] = await Promise.all([makeKey("first", alg), makeKey("second", alg)]);
      project.published.keys = [first.published, second.published];
      const status = async (key: Parameters<typeof project.signIn>[1]) =>
        (await statusOf(api, await project.signIn(person, key))).status;
      expect([await status(first), await status(second)]).toEqual([200, 200]);
      // The token is signed by one key and has the id of the other.
      expect(await status({ ...first, kid: "second" })).toBe(401);
      const token = await project.signIn(person, first);
      const [head = "", claims = ""] = token.split(".");
      for (const altered of [`${head}.${claims}.`, `${head}.${claims}`, `${head}.${claims}.AAAA`])
        expect((await statusOf(api, altered)).status).toBe(401);
    }),
  );

  test.each(["RS256", "EdDSA"])("of %s is never taken for one of another algorithm, or for a secret", (alg) =>
    withApi({ SUPABASE_JWKS: "" }, async (api) => {
      const key = await makeKey("only", alg);
      project.published.keys = [key.published];
      expect((await statusOf(api, await project.signIn(person, key))).status).toBe(200);
      const text = JSON.stringify(key.published);
      const pem = await exportSPKI((await importJWK(key.published)) as CryptoKey);
      const secrets = [text, pem, pem.trim(), key.published.n ?? key.published.x ?? ""];
      for (const secret of secrets) {
        const forged = { alg: "HS256", kid: "only", key: new TextEncoder().encode(secret) };
        expect((await statusOf(api, await project.signIn(person, forged))).status).toBe(401);
      }
      // A valid signature with the name of another algorithm in the header, and no signature at all.
      const [, claims = "", signature = ""] = (await project.signIn(person, key)).split(".");
      for (const named of ["none", "None", "HS256", "ES256", "RS256", "PS256", "EdDSA", "Ed25519"]) {
        if (named === alg || (alg === "EdDSA" && named === "Ed25519")) continue;
        const head = base64url.encode(JSON.stringify({ alg: named, kid: "only", typ: "JWT" }));
        for (const signed of [signature, ""])
          expect((await statusOf(api, `${head}.${claims}.${signed}`)).status, named).toBe(401);
      }
      // A key published under the name of another algorithm: it verifies no token, and does not break other requests.
      project.published.keys = [{ ...key.published, kid: "named", alg: alg === "EdDSA" ? "RS256" : "EdDSA" }];
      expect((await statusOf(api, await project.signIn(person, { ...key, kid: "named" }))).status).toBe(401);
      expect((await statusOf(api, await project.signIn(person, project.keys.shared))).status).toBe(200);
    }),
  );
});

describe("the claims of a token", () => {
  test("of another application, or of a session that is no id, are not accepted", () =>
    withApi({}, async (api) => {
      for (const claims of [{ client_id: randomUUID() }, { client_id: null }, { session_id: "x" }, { session_id: 1 }]) {
        const token = await project.signIn(person, project.keys.known, claims);
        expect([claims, (await statusOf(api, token)).status]).toEqual([claims, 401]);
      }
    }));
});
