import { readFile, rm, stat } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { makeTemporaryFolder, withTemporaryFolder } from "../../local/folders/temporary-folder.ts";
import { functionNames } from "../../local/operator/bundle.ts";
import { buildFunctions, deployFunctions } from "../../local/operator/deploy/functions.ts";
import { isDigestOf, type Management, managementOf } from "../../local/operator/deploy/management.ts";
import { type Fault, type ManagementApi, startManagementApi, type Upload } from "./management-api.ts";

let api: ManagementApi;
let pauses: number[];
let management: Management;

const clientOf = (token = api.token, ref = api.ref, url = api.url) =>
  managementOf(ref, token, { url, pause: async (seconds) => void pauses.push(seconds) });

beforeEach(async () => {
  api = await startManagementApi();
  pauses = [];
  management = clientOf();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await api.stop();
});

const problem = async (run: () => unknown) => {
  const error = await Promise.resolve()
    .then(run)
    .then(
      () => new Error("no error"),
      (thrown: Error) => thrown,
    );
  return error.message;
};

describe("the client of the Management API", () => {
  test("sends only what the description has, and reads what it answers", async () => {
    expect((await management.project()).database.host).toBe(`db.${api.ref}.supabase.co`);
    expect((await management.apiKeys()).map(({ api_key }) => api_key)).toEqual(
      api.state.apiKeys.map(({ api_key }) => api_key),
    );
    expect((await management.pooler())[0]).toMatchObject({ db_user: `postgres.${api.ref}` });
    expect(await management.functions()).toEqual([]);
    await management.secrets.set({ FIRST: "one", SECOND: "two" });
    expect((await management.secrets.list()).map(({ name }) => name)).toEqual(["FIRST", "SECOND"]);
    expect((await management.authConfig.patch({ site_url: "https://feedback.example" })).site_url).toBe(
      "https://feedback.example",
    );
    expect(api.violations).toEqual([]);
  });

  test("knows the digests of its own secrets, of functions and of auth", async () => {
    await management.secrets.set({ FIRST: "a value" });
    const [first] = await management.secrets.list();
    const { hook_send_email_secrets } = await management.authConfig.patch({ hook_send_email_secrets: "v1,whsec_x" });
    expect(isDigestOf(first?.value ?? "", "a value", api.ref)).toBe(true);
    expect(isDigestOf(first?.value ?? "", "another", api.ref)).toBe(false);
    expect(isDigestOf(String(hook_send_email_secrets), "v1,whsec_x", api.ref)).toBe(true);
    expect(isDigestOf(String(hook_send_email_secrets), "v1,whsec_y", api.ref)).toBe(false);
  });

  test.each<[string, () => Fault | undefined, RegExp]>([
    [
      "no right",
      () => ({ status: 403 }),
      /does not show the secrets of the functions: .*permission edge_functions_secrets_read, or/,
    ],
    ["a plan", () => ({ status: 402, message: "Limit of plan" }), /plan .*\(402, Limit of plan\): change the plan/],
    ["a missing project", () => ({ status: 404 }), /no project abcdefghijklmnopqrst: check SUPABASE_PROJECT_ID$/],
    ["a refusal", () => ({ status: 400, message: "bad\nname" }), /answers 400, bad name: look at the project/],
    ["too many requests", () => ({ status: 429 }), /too many requests: run this again in some minutes$/],
    ["a failure", () => ({ status: 503, text: "<html>" }), /answers 503: look at status\.supabase\.com/],
    [
      "another form",
      () => ({ status: 200, text: '[{"name":1}]' }),
      /field 0\.name of its answer is unknown .*: update/,
    ],
    ["no JSON", () => ({ status: 200, text: "<html>" }), /its answer is unknown .*: update/],
    [
      "a redirect",
      () => ({ status: 302, headers: { Location: "/elsewhere" } }),
      /does not answer .*: check the network$/,
    ],
  ])("%s is one sentence with what to do", async (_, fault, sentence) => {
    api.fault = fault;
    const message = await problem(() => management.secrets.list());
    expect(message).toMatch(sentence);
    expect(message).not.toContain("\n");
  });

  test.each([
    ["INACTIVE", /is paused: restore it in the dashboard/],
    ["PAUSING", /is paused: restore it in the dashboard/],
    ["RESTORING", /is RESTORING: wait until the dashboard shows it as active/],
    ["COMING_UP", /is COMING_UP: wait/],
  ])("a project that is %s is an error", async (status, sentence) => {
    api.state.status = status;
    expect(await problem(() => management.project())).toMatch(sentence);
  });

  test("an unhealthy project is none", async () => {
    api.state.status = "ACTIVE_UNHEALTHY";
    expect((await management.project()).status).toBe("ACTIVE_UNHEALTHY");
  });

  test("a wrong token, and one without a right, are named", async () => {
    expect(await problem(() => clientOf("sbp_wrong").project())).toMatch(/SUPABASE_ACCESS_TOKEN is wrong or expired/);
    api.state.permissions = ["auth_config_read"];
    await management.authConfig.get();
    expect(await problem(() => management.authConfig.patch({ site_url: "https://feedback.example" }))).toMatch(
      /permission auth_config_write and project_admin_write/,
    );
    expect(api.state.authConfig.site_url).toBeNull();
  });

  test("temporary errors are retried after the pause that Supabase asks for", async () => {
    const faults: (Fault | undefined)[] = [
      { status: 429, headers: { "Retry-After": "7" } },
      { status: 500 },
      { status: 429, headers: { "Retry-After": "86400" } },
    ];
    api.fault = ({ count }) => faults[count - 1];
    await management.secrets.set({ FIRST: "one" });
    expect(pauses).toEqual([7, 4, 60]);
    expect([...api.state.secrets]).toEqual([["FIRST", "one"]]);
  });

  test("an answer that ends in the middle is asked for again", async () => {
    let count = 0;
    const server = createServer((_, response) => {
      response.writeHead(200, { "Content-Length": "100" }).write("[", () => ++count && response.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const message = await problem(() => clientOf(undefined, undefined, `http://127.0.0.1:${port}`).functions());
    server.close();
    expect([count, message]).toEqual([4, expect.stringMatching(/does not answer \(.*\): check the network$/)]);
  });

  test("what does not pass is tried four times, and a refusal once", async () => {
    api.fault = () => ({ status: 500 });
    await problem(() => management.project());
    api.fault = () => ({ status: 400 });
    await problem(() => management.pooler());
    expect(api.calls.map(({ operation }) => operation)).toEqual([
      ...Array<string>(4).fill("v1GetProject"),
      "v1GetPoolerConfig",
    ]);
  });

  test("a host that does not answer is named", async () => {
    const server = createTcpServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const client = clientOf(api.token, api.ref, `http://127.0.0.1:${port}`);
    expect(await problem(() => client.project())).toBe(
      `Supabase does not show the project: 127.0.0.1:${port} does not answer (ECONNREFUSED): check the network`,
    );
  });

  test("the token goes to no host that Supabase's answer names", async () => {
    const visits: string[] = [];
    const other = createServer((request, response) => {
      visits.push(request.url ?? "");
      response.end("{}");
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as AddressInfo;
    api.fault = () => ({ status: 307, headers: { Location: `http://127.0.0.1:${port}/` } });
    await problem(() => management.secrets.set({ FIRST: "one" }));
    await new Promise((resolve) => other.close(resolve));
    expect(visits).toEqual([]);
  });

  test.each(["http://api.supabase.com", "http://127.0.0.1.example.org", "ftp://127.0.0.1", "api.supabase.com"])(
    "the address %s is refused",
    async (url) => {
      expect(await problem(() => clientOf(api.token, api.ref, url))).toMatch(
        /SUPABASE_API_URL is not an https address/,
      );
    },
  );

  test("a token that is no header and a reference that is a path are refused, unsent and unshown", async () => {
    const message = await problem(() => clientOf("sbp_secret\nX: y").project());
    expect(message).toMatch(/SUPABASE_ACCESS_TOKEN is not an access token/);
    expect(message).not.toContain("sbp_secret");
    expect(await problem(() => clientOf(api.token, "../organizations/"))).toMatch(/SUPABASE_PROJECT_ID/);
    expect(api.calls).toEqual([]);
  });

  test("no error has the token or a value of the request, also where the answer repeats them", async () => {
    const value = "a value of twenty-odd characters".repeat(20);
    api.fault = () => ({ status: 400, message: `${api.token} sent ${value}` });
    const message = await problem(() => management.secrets.set({ FIRST: value }));
    expect(message).toContain("answers 400, … sent …:");
  });
});

describe("the stand-in for the Management API", () => {
  const send = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${api.url}/v1/projects/${api.ref}${path}`, {
      method,
      headers: { Authorization: `Bearer ${api.token}`, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return response.status;
  };

  test.each<[string, string, string, unknown, number]>([
    ["a field that does not exist", "PATCH", "/config/auth", { hook_send_email_url: "https://x.example" }, 400],
    ["a value of another type", "PATCH", "/config/auth", { mailer_autoconfirm: "true" }, 400],
    ["a secret with a reserved name", "POST", "/secrets", [{ name: "SUPABASE_URL", value: "x" }], 400],
    ["a secret with another field", "POST", "/secrets", [{ name: "A", value: "x", note: "" }], 400],
    ["a parameter that does not exist", "GET", "/api-keys?show=true", undefined, 400],
    ["a value that no parameter has", "GET", "/api-keys?reveal=yes", undefined, 400],
    ["a path that does not exist", "GET", "/config/mail", undefined, 404],
    ["another method", "PUT", "/config/auth", {}, 404],
  ])("refuses and reports %s", async (_, method, path, body, status) => {
    expect(await send(method, path, body)).toBe(status);
    expect(api.violations).toHaveLength(1);
    expect(api.calls).toEqual([]);
  });
});

describe("the functions", () => {
  let folder: string;
  let built: string[];
  beforeAll(async () => {
    folder = await makeTemporaryFolder("functions");
    built = await buildFunctions(folder);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const deploy = (token = api.token) => {
    for (const [name, value] of Object.entries(api.environment)) vi.stubEnv(name, value);
    vi.stubEnv("SUPABASE_ACCESS_TOKEN", "sbp_of_another_account");
    return deployFunctions(folder, api.ref, token);
  };
  const versions = () => Object.fromEntries([...api.state.functions].map(([name, { version }]) => [name, version]));

  test("are deployed by the CLI, each as one whole file, by requests of the description", async () => {
    await deploy();
    expect(api.violations).toEqual([]);
    expect(versions()).toEqual(Object.fromEntries(functionNames.map((name) => [name, 1])));
    for (const name of functionNames) {
      const path = `supabase/functions/${name}/index.ts`;
      const { files, metadata } = api.state.uploads.get(name) as Upload;
      expect([...files.keys()]).toEqual([path]);
      expect(Buffer.compare(files.get(path) as Uint8Array, await readFile(join(folder, path)))).toBe(0);
      expect(metadata).toMatchObject({ entrypoint_path: path, verify_jwt: false });
    }
  }, 120_000);

  test("need nothing that is not uploaded, and have a margin to the limit of 5 MB", async () => {
    for (const name of functionNames) {
      const file = join(folder, "supabase", "functions", name, "index.ts");
      // Fails for an import that is neither Deno's nor in the file.
      await build({ entryPoints: [file], bundle: true, write: false, format: "esm", external: ["node:*"] });
      expect((await stat(file)).size).toBeLessThan(3_800_000);
    }
  });

  test("have the same content whenever they are built", () =>
    withTemporaryFolder(async (other) => {
      const contents = (files: string[]) => Promise.all(files.map((file) => readFile(file, "utf8")));
      expect(await contents(await buildFunctions(other))).toEqual(await contents(built));
    }));

  test.each<[string, RegExp, () => unknown]>([
    [
      "a token without the right",
      /use a token with the permission edge_functions_write/,
      () => (api.state.permissions = []),
    ],
    [
      "a plan with fewer functions",
      /plan .*Maximum number of functions.*: change the plan/,
      () =>
        (api.fault = ({ operation }) =>
          operation === "v1BulkUpdateFunctions"
            ? { status: 402, message: "Maximum number of functions reached for Plan" }
            : undefined),
    ],
    ["an unknown project", /check SUPABASE_PROJECT_ID$/, () => (api.fault = () => ({ status: 404 }))],
  ])(
    "%s is one sentence, and no function changes",
    async (_, sentence, fail) => {
      fail();
      const message = await problem(() => deploy());
      expect(message).toMatch(sentence);
      expect(message).not.toContain("\n");
      expect(versions()).toEqual({});
    },
    60_000,
  );

  test("a wrong token is one sentence without it", async () => {
    const token = `sbp_${"0".repeat(40)}`;
    const message = await problem(() => deploy(token));
    expect(message).toMatch(/SUPABASE_ACCESS_TOKEN is wrong or expired: make one at [^ ]*$/);
    expect(message).not.toContain(token);
  }, 120_000);

  test("one that is too large is a sentence, and the next deployment has all", async () => {
    api.state.maxFunctionBytes = 2_000_000;
    expect(await problem(() => deploy())).toMatch(/larger than Supabase takes \(5 MB\): deploy a release/);
    // The CLI deploys the others.
    expect(versions()).not.toHaveProperty("web");
    api.state.maxFunctionBytes = 5_000_000;
    await deploy();
    expect(Object.keys(versions()).sort()).toEqual([...functionNames].sort());
  }, 120_000);
});
