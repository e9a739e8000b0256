import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

const maxWaiting = 3;
const waitingOf = new WeakMap<Socket, number>();

/**
 * Begins a request when the earlier ones of its connection are answered. Node tells a response that has no socket yet
 * nothing of a client that left, and passes on any number of requests.
 */
export function inTurn({ socket }: IncomingMessage, response: ServerResponse, begin: () => void): void {
  if (response.socket) return void begin();
  const count = (more: number) => {
    const waiting = (waitingOf.get(socket) ?? 0) + more;
    waitingOf.set(socket, waiting);
    return waiting;
  };
  if (count(1) > maxWaiting) return void socket.destroy();
  response.once("socket", () => {
    count(-1);
    begin();
  });
}
