import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

const maxWaiting = 3;
const waitingOf = new WeakMap<Socket, number>();

/**
 * Begins a request after the earlier ones of its connection were answered. A waiting response has no socket, so Node
 * does not report that its client has disconnected; and Node passes on any number of pipelined requests.
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
