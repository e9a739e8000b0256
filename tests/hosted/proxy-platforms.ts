import { type ChildProcess, spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { getRequestListener } from "@hono/node-server";
import { denoProgram } from "../../local/functions/process.ts";

/** A platform that runs the proxy which is in a folder; `headers` are those that it sets for a client's address. */
export interface Running {
  port: number;
  addressHeader: string;
  stop(): Promise<void>;
}

const require = createRequire(import.meta.url);

/** Cloudflare's own runtime, with what wrangler.json says. It takes request.cf from a header. */
export async function startCloudflare(folder: string, secret: string): Promise<Running> {
  const { main, compatibility_date, vars } = JSON.parse(await readFile(join(folder, "wrangler.json"), "utf8"));
  const bindings = Object.entries({ ...vars, PROXY_SECRET: secret }).map(
    ([name, text]) => `(name = ${JSON.stringify(name)}, text = ${JSON.stringify(text)})`,
  );
  await writeFile(
    join(folder, "workerd.capnp"),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .proxy), (name = "internet", network = (allow = ["public", "private"]))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (cfBlobHeader = "x-cf"), service = "main")]
);
const proxy :Workerd.Worker = (
  modules = [(name = "proxy.js", esModule = embed "${main}")],
  compatibilityDate = "${compatibility_date}",
  bindings = [${bindings.join(", ")}]
);
`,
  );
  const child = spawn(require("workerd").default, ["serve", "--control-fd=3", join(folder, "workerd.capnp")], {
    stdio: ["ignore", "inherit", "inherit", "pipe"],
  });
  const [line] = await firstLine(child, child.stdio[3] as NodeJS.ReadableStream);
  return { port: JSON.parse(line).port, addressHeader: "cf-connecting-ip", stop: () => ended(child) };
}

/** Node in place of Vercel's edge runtime. */
export async function startVercel(folder: string, secret: string): Promise<Running> {
  process.env.PROXY_SECRET = secret;
  const { default: middleware } = await import(pathToFileURL(join(folder, "middleware.js")).href);
  const server = createServer(getRequestListener(middleware, { overrideGlobalObjects: false }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    addressHeader: "x-real-ip",
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Deno as it is, with the little of Netlify that the function uses. */
export async function startNetlify(folder: string, secret: string): Promise<Running> {
  const runner = join(folder, "run.js");
  await writeFile(
    runner,
    `globalThis.Netlify = { env: Deno.env };
const { default: pages } = await import("./netlify/edge-functions/pages.js");
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log(port) }, (request) =>
  pages(request, { ip: request.headers.get("x-nf-client-connection-ip") }));
`,
  );
  const child = spawn(
    denoProgram(),
    ["run", "--quiet", "--no-config", "--allow-net", "--allow-env", "--allow-read", runner],
    {
      stdio: ["ignore", "pipe", "inherit"],
      env: { PATH: process.env.PATH, PROXY_SECRET: secret, DENO_NO_UPDATE_CHECK: "1", DENO_DIR: join(folder, "deno") },
    },
  );
  const [line] = await firstLine(child, child.stdout as NodeJS.ReadableStream);
  return { port: Number(line), addressHeader: "x-nf-client-connection-ip", stop: () => ended(child) };
}

function firstLine(child: ChildProcess, output: NodeJS.ReadableStream): Promise<[string]> {
  return new Promise((resolve, reject) => {
    createInterface(output).once("line", (line) => resolve([line]));
    child.once("exit", (code) => reject(new Error(`the runtime ended with ${code}`)));
    child.once("error", reject);
  });
}

async function ended(child: ChildProcess): Promise<void> {
  const end = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await end;
}
