import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createGzip } from "node:zlib";
import { WebSocketServer } from "ws";

export interface Gateway {
  /** Such as https://<ref>.supabase.co/functions/v1. */
  functionsUrl: string;
  /** What came to a path, the newest last. */
  seen: { method: string | undefined; url: string; headers: IncomingHttpHeaders }[];
  /** Answers in place of a function, by path below /functions/v1. */
  stubs: Map<string, (incoming: IncomingMessage, outgoing: ServerResponse) => void>;
  stop(): Promise<void>;
}

/**
 * A stand-in for the gateway of hosted Supabase, as far as it is known: it changes HTML to plain text in a sandbox, drops
 * cookies, adds headers of its own, compresses, and names itself as the client. Behind it are the functions of a stack.
 * It takes WebSockets itself, and returns what they send.
 */
export async function startGateway(stackUrl: string): Promise<Gateway> {
  const seen: Gateway["seen"] = [];
  const stubs: Gateway["stubs"] = new Map();
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: (offered) => [...offered][0] ?? false });

  const server = createServer((incoming, outgoing) => {
    const url = incoming.url ?? "/";
    seen.push({ method: incoming.method, url, headers: incoming.headers });
    const path = url.replace(/^\/functions\/v1/, "");
    if (path === url) return outgoing.writeHead(404, { "content-type": "application/json" }).end("{}");
    const stub = stubs.get(path);
    if (stub) return stub(incoming, outgoing);
    const { host: _host, connection: _connection, ...headers } = incoming.headers;
    const passed = request(stackUrl + (path.startsWith("/web") ? path : url), {
      method: incoming.method,
      headers: { ...headers, "accept-encoding": "gzip, br", "cf-connecting-ip": "2a06:98c0:3600::103" },
    });
    passed.on("error", () => outgoing.destroy());
    passed.on("response", (answer) => {
      const {
        "set-cookie": _cookies,
        "content-length": _length,
        "transfer-encoding": _coding,
        ...kept
      } = answer.headers;
      const isHtml = incoming.method === "GET" && kept["content-type"]?.startsWith("text/html");
      const isCompressed = answer.statusCode === 200 && incoming.headers["accept-encoding"]?.includes("gzip");
      outgoing.writeHead(answer.statusCode ?? 500, {
        ...kept,
        ...(isHtml && {
          "content-type": "text/plain",
          "content-security-policy": "default-src 'none'; sandbox",
          "x-content-type-options": "nosniff",
        }),
        ...(isCompressed && { "content-encoding": "gzip" }),
        "strict-transport-security": "max-age=31536000; includeSubDomains; preload",
        "set-cookie": "__cf_bm=x; Domain=supabase.co",
        "sb-gateway-version": "1",
      });
      if (isCompressed) answer.pipe(createGzip()).pipe(outgoing);
      else answer.pipe(outgoing);
    });
    incoming.pipe(passed);
  });
  server.on("upgrade", (incoming, socket, head) => {
    seen.push({ method: incoming.method, url: incoming.url ?? "/", headers: incoming.headers });
    if (!incoming.url?.startsWith("/functions/v1/")) return socket.destroy();
    sockets.handleUpgrade(incoming, socket, head, (webSocket) =>
      webSocket.on("message", (data) => webSocket.send(data)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    functionsUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/functions/v1`,
    seen,
    stubs,
    async stop() {
      for (const client of sockets.clients) client.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
