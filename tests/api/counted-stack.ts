import { randomUUID } from "node:crypto";
import { connect, createServer, type Socket } from "node:net";
import { choosePort, listen } from "../../local/ports.ts";
import { type OwnStack, startOwnStack } from "../own-stack.ts";

export type CountedStack = OwnStack & {
  /** How often the functions sent something to Postgres after they had heard from it. */
  flights(): number;
};

/** So long does the proxy hold back what Postgres says: what does not wait for it has been sent by then. */
const delay = 15;

/** A stack of its own, whose functions reach Postgres by one connection and through a proxy that counts. */
export async function startCountedStack(): Promise<CountedStack> {
  const dbPort = await choosePort(0, "DB_PORT");
  const proxy = countingProxy(dbPort);
  await listen(proxy.server, 0, "PORT");
  const { port } = proxy.server.address() as { port: number };
  const password = randomUUID();
  const stack = await startOwnStack({
    dbPort,
    postgresSettings: { fsync: "off", synchronous_commit: "off" },
    functionsEnvironment: {
      DATABASE_URL: `postgres://feedback_api:${password}@127.0.0.1:${port}/postgres`,
      DATABASE_CONNECTIONS: "1",
    },
  });
  // The launcher keeps its own to itself.
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

function countingProxy(target: number) {
  const sockets = new Set<Socket>();
  let flights = 0;
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    let heard = true;
    client.on("data", (chunk) => {
      if (heard) flights++;
      heard = false;
      upstream.write(chunk);
    });
    upstream.on("data", (chunk) => {
      setTimeout(() => {
        heard = true;
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
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
