import type { ServerResponse } from "node:http";

/** Cuts off who does not read: what they leave in the pipe is held somewhere. Who has nothing to read may wait as long as they like. */
export function cutSlowReader(response: ServerResponse, leastBytes: number, everyMs: number): void {
  const { socket } = response;
  if (!socket) return;
  let sent = socket.bytesWritten - socket.writableLength;
  let hadToRead = false;
  const timer = setInterval(() => {
    // Of what was handed over, the system's own buffer took as much.
    const taken = socket.bytesWritten - socket.writableLength;
    const hasToRead = socket.writableLength > 0;
    if (hadToRead && hasToRead && taken - sent < leastBytes) socket.destroy();
    sent = taken;
    hadToRead = hasToRead;
  }, everyMs);
  response.once("close", () => clearInterval(timer));
}
