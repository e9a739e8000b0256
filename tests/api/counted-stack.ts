import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { tokenIssuer } from "../../local/lite/auth-config.ts";
import { listen } from "../../local/processes/ports.ts";
import { startOwnFunctions } from "../mcp/own-functions.ts";
import { type OwnStack, startOwnStack } from "../own-stack.ts";
import { stack } from "../stack.ts";

export type CountedStack = OwnStack & {
  /** How often the functions sent something to Postgres after they had received its response. */
  flights(): number;
};

/** The delay of Postgres's responses in the proxy: requests that do not wait for them arrive earlier. */
const delay = 15;

/** A stack whose functions reach Postgres through one connection and a proxy that counts round trips. */
export async function startCountedStack(options: { parts?: ["web"] } = {}): Promise<CountedStack> {
  const proxy = await startCountingProxy();
  const password = randomUUID();
  const stack = await startOwnStack({
    ...options,
    postgresSettings: { fsync: "off", synchronous_commit: "off" },
    functionsEnvironment: {
      DATABASE_URL: `postgres://feedback_api:${password}@127.0.0.1:${proxy.port}/postgres`,
      DATABASE_CONNECTIONS: "1",
    },
  });
  proxy.leadTo(Number(new URL(stack.db_url).port));
  // The launcher does not publish its own secret.
  await stack.sql.unsafe(`alter role feedback_api password '${password}'`);
  return {
    ...stack,
    flights: proxy.flights,
    async remove() {
      await stack.remove();
      proxy.close();
    },
  };
}

/** The same for an additional process of the API, which uses the database of the shared stack. */
export async function startCountedFunctions() {
  const proxy = await startCountingProxy();
  proxy.leadTo(Number(new URL(stack.db_url).port));
  const secrets = JSON.parse(await readFile(join(dirname(stack.mailPath), "secrets.json"), "utf8"));
  const functions = await startOwnFunctions({
    DATABASE_URL: `postgres://feedback_api:${secrets.functions_password}@127.0.0.1:${proxy.port}/postgres`,
    DATABASE_CONNECTIONS: "1",
    JWT_SECRET: stack.jwtSecret,
    JWT_ISSUERS: tokenIssuer,
    WEBHOOK_SECRETS_KEYS: secrets.webhook_secrets_key,
  });
  return {
    base: `http://127.0.0.1:${functions.port}`,
    flights: proxy.flights,
    async stop() {
      await functions.stop();
      proxy.close();
    },
  };
}

async function startCountingProxy() {
  const proxy = countingProxy();
  await listen(proxy.server, 0, "PORT");
  const { port } = proxy.server.address() as { port: number };
  return { ...proxy, port };
}

function countingProxy() {
  let target = 0;
  const sockets = new Set<Socket>();
  let flights = 0;
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    let inStream = true;
    client.on("data", (chunk) => {
      if (inStream) flights++;
      inStream = false;
      upstream.write(chunk);
    });
    upstream.on("data", (chunk) => {
      setTimeout(() => {
        inStream = true;
        client.write(chunk);
      }, delay);
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.setNoDelay(true);
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  return {
    server,
    flights: () => flights,
    leadTo: (port: number) => {
      target = port;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
