import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { denoProgram } from "../../local/functions/process.ts";
import { root } from "../../local/postgres/database-server.ts";
import { stack } from "../stack.ts";
import { newAgent } from "./agents.ts";

/** The suite sends no keys: it calls a proxy that adds one, and forwards the rest unchanged, even Host and Origin. */
async function mountWithKey(token: string) {
  const server = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${token}` };
    const onward = request(`${stack.base_url}/api/mcp`, { method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    incoming.pipe(onward);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/mcp` };
}

const cache = join(root, "node_modules/.cache/deno");
const options = { cwd: join(root, "tests/mcp"), env: { ...process.env, DENO_DIR: cache, NO_COLOR: "1" } };
const inDeno = (...words: string[]) => ["run", "-A", `--config=${join(root, "deno.json")}`, ...words];

/** Rejects with the suite's output if a result differs from the list of expected failures. */
async function passedAt(url: string, expectedFailures: string) {
  const suite = join(root, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
  const words = inDeno(suite, "server", "--url", url, "--expected-failures", expectedFailures);
  const { stdout } = await promisify(execFile)(denoProgram(), words, options);
  return [...stdout.matchAll(/^✓ (\S+): [1-9]/gm)].map(([, name]) => name);
}

test("the conformance suite reports exactly the failures of tests/mcp/conformance.yml, each with its reason", async () => {
  const { token } = await newAgent();
  const { server, url } = await mountWithKey(token);
  try {
    expect(await passedAt(url, "conformance.yml")).toEqual([
      "server-initialize",
      "ping",
      "tools-list",
      "resources-list",
      "dns-rebinding-protection",
    ]);
  } finally {
    server.close();
  }
});

test("with the suite's own fixtures, the handler passes all but the failures of tests/mcp/conformance-fixtures.yml", async () => {
  const server = spawn(denoProgram(), inDeno("conformance-server.ts"), options);
  try {
    const [output] = await once(server.stdout, "data");
    const port = /^port (\d+)/.exec(String(output))?.[1];
    const passed = await passedAt(`http://127.0.0.1:${port}/mcp`, "conformance-fixtures.yml");
    expect(passed).toHaveLength(20);
  } finally {
    server.kill();
  }
});
