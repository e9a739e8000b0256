import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Board } from "./board.ts";
import type { Load, Measured, Order, Reply } from "./load.ts";

export interface Generator {
  measure(load: Load): Promise<Measured>;
  stop(): void;
}

/** Generates load in a process of its own. */
export function startGenerator(board: Board): Generator {
  const child = fork(fileURLToPath(new URL("load.ts", import.meta.url)));
  const order = (message: Order) => child.send(message);
  const ended = once(child, "exit").then(([code]) =>
    Promise.reject(new Error(`the load generator ended (code ${code})`)),
  );
  ended.catch(() => undefined);
  order({ board });
  return {
    async measure(load) {
      order(load);
      const [reply] = (await Promise.race([once(child, "message"), ended])) as [Reply];
      if ("problem" in reply) throw new Error(reply.problem);
      return reply.measured;
    },
    stop: () => child.disconnect(),
  };
}
