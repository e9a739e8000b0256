import { createServer, type Server } from "node:net";
import { codeOf, StartError } from "./start-error.ts";

/** The port if it is free, or a free one for 0. `variable` is the environment variable to change. */
export async function choosePort(port: number, variable: string): Promise<number> {
  const probe = createServer();
  await listen(probe, port, variable);
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no TCP address");
  return address.port;
}

export function listen(server: Server, port: number, variable: string, host = "127.0.0.1"): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error) => reject(explain(error, port, variable)));
    server.listen({ port, host, exclusive: true }, () => {
      server.removeAllListeners("error");
      resolve();
    });
  });
}

function explain(error: Error, port: number, variable: string): Error {
  switch (codeOf(error)) {
    case "EADDRINUSE":
      return new StartError(
        `port ${port} is in use: stop what listens there, or set ${variable} (0 picks a free port)`,
      );
    case "EACCES":
      return new StartError(`this user may not use port ${port}: set ${variable} to a port above 1023`);
    default:
      return error;
  }
}
