import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";

/** Reads a request again without its offer to change the protocol, so that it is answered like any other. */
export function readWithoutUpgrade(server: Server, incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = incoming;
  const lines = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 && !/^(?:upgrade|http2-settings)$/i.test(name) ? [`${name}: ${rawHeaders[index + 1]}`] : [],
  );
  const text = [`${method} ${url} HTTP/${httpVersion}`, ...lines, "", ""].join("\r\n");
  socket.unshift(Buffer.concat([Buffer.from(text, "latin1"), head]));
  server.emit("connection", socket);
}
