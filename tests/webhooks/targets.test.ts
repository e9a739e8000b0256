import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import { type AddressInfo, connect, createServer as createSilentServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { denoProgram } from "../../local/functions/process.ts";
import { root } from "../../local/postgres/database-server.ts";
import { api } from "../api/client.ts";
import { newOrganization, newUser } from "../api/world.ts";
import { importFunction } from "../import-function.ts";
import { sql } from "../stack.ts";
import { until } from "../until.ts";
import { startReceiver } from "./receivers.ts";
import { type Hook, newHook, newWorld } from "./world.ts";

const run = promisify(execFile);
const world = await newWorld();
const isPrivate = "must not lead to a private or local address";

const privateAddresses = [
  "0.0.0.0",
  "0.1.2.3",
  "10.1.2.3",
  "100.64.0.1",
  "100.100.100.200",
  "127.0.0.2",
  "161.26.0.10",
  "166.11.255.255",
  "168.63.129.16",
  "169.254.169.254",
  "172.16.0.1",
  "192.0.0.1",
  "192.0.0.192",
  "192.0.2.1",
  "192.88.99.1",
  "192.168.1.1",
  "198.18.0.1",
  "198.19.255.255",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::127.0.0.1",
  "::a83f:8110",
  "::ffff:10.0.0.1",
  "::ffff:7f00:1",
  "::ffff:8.8.8.8",
  "::ffff:0:10.0.0.1",
  "64:ff9b::7f00:1",
  "64:ff9b::a83f:8110",
  "64:ff9b:1::1",
  "100::1",
  "2001::1",
  "2001:0:4136:e378:8000:63bf:3fff:fdd2",
  "2001:2::1",
  "2001:10::1",
  "2001:20::1",
  "2001:db8::1",
  "2002:7f00:1::",
  "2002:a9fe:a9fe::",
  "3fff::1",
  "4000::1",
  "5f00::1",
  "fc00::1",
  "fd00:ec2::254",
  "fd20:ce::254",
  "fe80::1",
  "fec0::1",
  "ff02::1",
];

describe("an address", () => {
  let isPublic: (address: string) => boolean;
  beforeAll(async () => {
    ({ isPublic } = await importFunction<{ isPublic: typeof isPublic }>(
      new URL("../../functions/_shared/dispatch/webhook-target.ts", import.meta.url),
    ));
  });

  test.each(privateAddresses)("%s is not public", (address) => {
    expect(isPublic(address)).toBe(false);
  });
  test.each([
    ...["8.8.8.8", "93.184.216.34", "161.25.255.255", "166.12.0.1", "168.63.129.17"],
    "2606:2800:220:1:248:1893:25c8:1946",
  ])("%s is public", (address) => {
    expect(isPublic(address)).toBe(true);
  });
  test.each(["", "localhost", "8.8.8.8 ", "::1%eth0"])("%j is not an IP address", (address) => {
    expect(isPublic(address)).toBe(false);
  });
});

const hostOf = (address: string) => (address.includes(":") ? `[${address}]` : address);
const hiding = [
  "https://2130706434/",
  "https://0x7f.2/",
  "https://0177.0.0.2/",
  "https://127.2/",
  "https://LOCALHOST/",
  "https://localhost./",
  "https://metadata/",
  "https://metadata.google.internal/",
  "https://printer.local/",
  "https://a.localhost/",
];

test.each([...privateAddresses.map((address) => `https://${hostOf(address)}/`), ...hiding])(
  "%s is rejected at registration",
  async (url) => {
    const answer = await api("POST", world.path, { as: world.key, body: { url, events: ["org.updated"] } });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ error: { details: [{ field: "url", message: isPrivate }] } });
  },
);

test("a caller who may not manage webhooks gets the same 403 or 404 for every host", async () => {
  const { organization } = world;
  const member = await newUser("Member", { organization, role: "member" });
  const stranger = await newUser("Stranger");
  const hook = await newHook(world, ["org.updated"]);
  for (const url of ["https://localhost/", "https://10.0.0.1/", "https://receiver.example/"]) {
    for (const as of [member, stranger]) {
      const created = await api("POST", world.path, { as, body: { url, events: ["org.updated"] } });
      expect(created.status, url).toBe(403);
      expect((await api("PATCH", hook.path, { as, body: { url } })).status, url).toBe(403);
    }
    const hidden = await newOrganization({ visibility: "private" });
    const path = `/api/organizations/${hidden.id}/webhooks`;
    const made = await api("POST", path, { as: stranger, body: { url, events: ["org.updated"] } });
    expect(made.status, url).toBe(404);
  }
});

/** The result of a test event, when there is one. */
async function attempted(hook: Hook): Promise<{ status_code: number | null; error: string | null }> {
  const { body } = await api("POST", `${hook.path}/test`, { as: world.key });
  const { id } = (body as { data: { id: string } }).data;
  return until(async () => {
    const shown = await api("GET", `${hook.path}/deliveries/${id}`, { as: world.admin });
    return (shown.body as { data: { attempts: { status_code: number | null; error: string | null }[] } }).data
      .attempts[0];
  });
}

test.each(["https://10.0.0.1/", "https://[::1]/", "https://localhost/", "http://receiver.example/"])(
  "%s is rejected at connection too, however it was stored",
  async (url) => {
    const hook = await newHook(world, ["org.updated"]);
    await sql`update private.webhooks set url = ${url} where id = ${hook.id.slice(3)}`;
    expect(await attempted(hook)).toMatchObject({ status_code: null, error: expect.stringMatching(/^The URL must/) });
  },
);

test("a redirect is a response and is not followed", async () => {
  const elsewhere = await startReceiver();
  const hook = await newHook(world, ["org.updated"], {
    behave: (response) => response.writeHead(307, { location: elsewhere.url }).end(),
  });
  expect(await attempted(hook)).toMatchObject({ status_code: 307, error: null });
  expect(elsewhere.heard).toEqual([]);
});

/** The dispatcher's HTTP client with a mock resolver that has one answer per query. */
describe("a host name", () => {
  let folder: string;
  let server: Server;
  let received = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "feedback-targets-"));
    const { imports } = JSON.parse(await readFile(join(root, "deno.json"), "utf8"));
    await writeFile(
      join(folder, "map.json"),
      JSON.stringify({ imports: { ...imports, "node:dns/promises": "./dns.ts" } }),
    );
    await writeFile(
      join(folder, "dns.ts"),
      `const answers = JSON.parse(Deno.env.get("ANSWERS"));
      export const lookup = async (name) => {
        const [addresses, ...later] = answers[name];
        answers[name] = later;
        return addresses.map((address) => ({ address }));
      };`,
    );
    await writeFile(
      join(folder, "post.ts"),
      `import { post } from "${root}/functions/webhook-dispatch/post.ts";
      for (const url of Deno.args) {
        await post(new URL(url), {}, new Uint8Array()).then(({ status }) => console.log(status), ({ message }) => console.log(message));
      }
      Deno.exit();`,
    );
    await certify(folder);
    const [key, cert] = await Promise.all([readFile(join(folder, "own.key")), readFile(join(folder, "own.pem"))]);
    server = createServer({ key, cert }, (_, response) => {
      received++;
      response.writeHead(200, { connection: "close" }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterAll(async () => {
    server?.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function posted(names: Record<string, string[][]>, allowed: string, ...hosts: string[]): Promise<string[]> {
    const { port } = server.address() as AddressInfo;
    const { stdout } = await run(
      denoProgram(),
      [
        ...[
          "run",
          "--quiet",
          "--no-check",
          "--no-prompt",
          `--config=${root}/deno.json`,
          `--import-map=${folder}/map.json`,
        ],
        ...["--allow-net", "--allow-env", `--allow-read=${root},${folder}`, join(folder, "post.ts")],
        ...hosts.map((host) => `https://${host}:${port}/`),
      ],
      {
        env: {
          ...process.env,
          NO_COLOR: "1",
          DENO_CERT: join(folder, "ca.pem"),
          ANSWERS: JSON.stringify(names),
          WEBHOOK_ALLOWED_HOSTS: allowed,
        },
      },
    );
    return stdout.trim().split("\n");
  }

  test("that resolves to a private address is rejected at connection, also if only one of several does", async () => {
    const names = { "hook.test": [["127.0.0.1"]], "other.test": [["93.184.216.34", "10.0.0.1"]] };
    const error = `The URL ${isPrivate}.`;
    expect(await posted(names, "", "hook.test", "other.test")).toEqual([error, error]);
    expect(received).toBe(0);
  });

  test("is resolved once per connection, which uses that address, and TLS verifies the name", async () => {
    // A second query would have no answer.
    const names = { "hook.test": [["127.0.0.1"]], "other.test": [["127.0.0.1"]] };
    const [right, wrong] = await posted(names, "hook.test,other.test", "hook.test", "other.test");
    expect(right).toBe("200");
    expect(wrong).toMatch(/^TLS failed: /);
    expect(received).toBe(1);
  });

  /** An address that swallows packets: a stopped process, and as many connections as its queue holds. */
  async function swallow(address: string): Promise<() => void> {
    const { port } = server.address() as AddressInfo;
    const listen = `require("net").createServer().listen(${JSON.stringify({ port, host: address, backlog: 1 })}, `;
    const hole = spawn(process.execPath, ["-e", `${listen}() => process.kill(process.pid, "SIGSTOP"))`]);
    const status = () => readFile(`/proc/${hole.pid}/stat`, "utf8");
    await until(async () => (await status()).includes(") T "));
    const queued = Array.from({ length: 5 }, () => connect({ port, host: address }).on("error", () => {}));
    await once(queued[0] as (typeof queued)[0], "connect");
    return () => {
      for (const socket of queued) socket.destroy();
      hole.kill("SIGKILL");
    };
  }

  test("that has addresses which swallow packets or refuse is reached at the next one within its ten seconds", async () => {
    const closed = [await swallow("127.0.0.2"), await swallow("127.0.0.3")];
    const silent = createSilentServer((socket) => socket.on("error", () => {}));
    await new Promise<void>((resolve) => silent.listen((server.address() as AddressInfo).port, "127.0.0.5", resolve));
    closed.push(() => silent.close());
    const names = {
      "one.hook.test": [["127.0.0.2", "127.0.0.1"]],
      "two.hook.test": [["127.0.0.2", "127.0.0.3", "127.0.0.1"]],
      "last.hook.test": [["127.0.0.1", "127.0.0.2"]],
      "refusing.hook.test": [["127.0.0.4", "127.0.0.2", "127.0.0.1"]],
      "refusing-last.hook.test": [["127.0.0.2", "127.0.0.4", "127.0.0.1"]],
      "silent.hook.test": [["127.0.0.5", "127.0.0.1"]],
      "many.hook.test": [[...Array(12).fill("127.0.0.2"), "127.0.0.1"]],
    };
    const hosts = Object.keys(names);
    try {
      expect(await posted(names, hosts.join(","), ...hosts)).toEqual(hosts.map(() => "200"));
    } finally {
      for (const close of closed) close();
    }
  });

  test("that has very many addresses is tried at the first sixteen only", async () => {
    const names = { "hook.test": [[...Array(16).fill("127.0.0.4"), "127.0.0.1"]] };
    expect(await posted(names, "hook.test", "hook.test")).toEqual(["The connection was refused."]);
  });

  test("one of whose addresses is private is not reached at the others either, in any order", async () => {
    const before = received;
    const names = { "hook.test": [["93.184.216.34", "127.0.0.1"]], "one.hook.test": [["127.0.0.1", "93.184.216.34"]] };
    const error = `The URL ${isPrivate}.`;
    expect(await posted(names, "", ...Object.keys(names))).toEqual([error, error]);
    expect(received).toBe(before);
  });
});

/** A certificate for hook.test, and the authority that signed it. */
async function certify(folder: string): Promise<void> {
  const openssl = (...args: string[]) => run("openssl", args, { cwd: folder });
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  await writeFile(join(folder, "names"), "subjectAltName=DNS:hook.test,DNS:*.hook.test");
  await openssl("req", "-x509", ...curve, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test");
  await openssl("req", ...curve, "-keyout", "own.key", "-out", "own.csr", "-subj", "/CN=hook.test");
  await openssl(
    ...["x509", "-req", "-in", "own.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"],
    ...["-days", "2", "-extfile", "names", "-out", "own.pem"],
  );
}
