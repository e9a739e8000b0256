import type { ServerResponse } from "node:http";

/** Disconnects slow readers, whose unread data occupies memory. Idle connections without pending data are kept. */
export function disconnectSlowReader(response: ServerResponse, leastBytes: number, everyMs: number): void {
  const { socket } = response;
  if (!socket) return;
  let sent = socket.bytesWritten - socket.writableLength;
  let hadToRead = false;
  const timer = setInterval(() => {
    // Bytes written minus bytes in the kernel buffer were read.
    const acknowledged = socket.bytesWritten - socket.writableLength;
    const hasToRead = socket.writableLength > 0;
    if (hadToRead && hasToRead && acknowledged - sent < leastBytes) socket.destroy();
    sent = acknowledged;
    hadToRead = hasToRead;
  }, everyMs);
  response.once("close", () => clearInterval(timer));
}
