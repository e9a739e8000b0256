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
  const waiting = (waitingOf.get(socket) ?? 0) + 1;
  if (waiting > maxWaiting) return void socket.destroy();
  waitingOf.set(socket, waiting);
  response.once("socket", () => {
    waitingOf.set(socket, (waitingOf.get(socket) ?? 1) - 1);
    begin();
  });
}
