import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { root } from "../../local/database-server.ts";
import { denoProgram } from "../../local/functions.ts";
import { stack } from "../stack.ts";
import { newAgent } from "./agents.ts";

/** The suite knows no keys: it calls a mount that adds one, and passes the rest on as it came, Host and Origin too. */
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

test("the conformance suite finds what tests/mcp/conformance.yml lists, each with its reason, and nothing else", async () => {
  const { token } = await newAgent();
  const { server, url } = await mountWithKey(token);
  const suite = join(root, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
  const words = [
    "run",
    "-A",
    `--config=${join(root, "deno.json")}`,
    suite,
    "server",
    "--url",
    url,
    "--expected-failures",
    "conformance.yml",
  ];
  try {
    // Rejects with what the suite said where it exits with an error.
    const { stdout } = await promisify(execFile)(denoProgram(), words, {
      cwd: join(root, "tests/mcp"),
      env: { ...process.env, DENO_DIR: join(root, "node_modules/.cache/deno"), NO_COLOR: "1" },
    });
    const passed = [...stdout.matchAll(/^✓ (\S+): [1-9]/gm)].map(([, name]) => name);
    expect(passed).toEqual([
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
