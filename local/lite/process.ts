import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listen } from "../ports.ts";
import { messageOf } from "../start-error.ts";
import type { LiteSecrets } from "./auth-config.ts";
import { isServedBy, type LiteName } from "./paths.ts";

export interface LiteOptions {
  /** Of a login that this service has for itself. */
  databaseUrl: string;
  secrets: LiteSecrets;
  /** Where clients see it. */
  siteUrl: string;
  /** The gateway sends the caller's address in it. Its name is random, so that nobody else on this machine can call. */
  addressHeader: string;
  /** What auth's limits on tries need. */
  guard?: { databaseUrl: string; addressHashKey: string; mailPath: string };
}

/** Stands for an address where the launcher itself calls. */
export const launcherAddress = "launcher";

export interface Service {
  /** Without the client's address it is the launcher who calls. */
  answer(request: Request, clientAddress: string | undefined): Promise<Response>;
  close(): Promise<void>;
}

/** What the launcher says. */
export type Order = { type: "start"; options: LiteOptions } | { type: "ping" } | { type: "stop" };

export type Report =
  | { type: "ready"; port: number }
  | { type: "pong" }
  | { type: "failed" | "trouble"; message: string };

const report = (said: Report) => process.send?.(said);

/** Tells the operator. */
export const tellTrouble = (message: string) => report({ type: "trouble", message });

/** The whole of a process that serves one part of @supabase/lite. */
export function runService(name: LiteName, open: (options: LiteOptions) => Promise<Service>): void {
  // lite prints codes, links, and every refused statement with its rows.
  for (const method of ["log", "info", "warn", "error", "debug"] as const) console[method] = () => undefined;
  let service: Service | undefined;

  const start = async (options: LiteOptions) => {
    const opened = await open(options);
    service = opened;
    const server = createServer((incoming, response) => {
      answer(name, options, opened, incoming, response).catch(() => response.destroy());
    });
    server.keepAliveTimeout = 65_000;
    await listen(server, 0, "PORT");
    const address = server.address();
    report({ type: "ready", port: typeof address === "object" && address ? address.port : 0 });
  };

  process.on("message", (order: Order) => {
    if (order.type === "ping") report({ type: "pong" });
    else if (order.type === "start")
      start(order.options).catch((error: unknown) => {
        process.send?.({ type: "failed", message: messageOf(error) } satisfies Report, () => process.exit(1));
      });
    else
      Promise.resolve(service?.close())
        .catch(() => undefined)
        .then(() => process.exit(0));
  });
  // Ctrl-C in a terminal reaches this process too; the launcher stops things in order, and its death is the end here.
  process.on("SIGINT", () => undefined);
  process.on("disconnect", () => process.exit(0));
}

async function answer(
  name: LiteName,
  { addressHeader, siteUrl }: LiteOptions,
  service: Service,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const address = incoming.headers[addressHeader];
  if (typeof address !== "string") return void incoming.socket.destroy();
  const [path = "", ...rest] = (incoming.url ?? "").split("?");
  if (!isServedBy(name, path)) return void response.writeHead(404).end();
  const url = new URL(siteUrl);
  url.pathname = path;
  url.search = rest.join("?");
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const headers = Object.entries(incoming.headersDistinct).flatMap(([header, values = []]) =>
    header === addressHeader || header === "host"
      ? []
      : values.map((value): [string, string] => [header, value]),
  );
  const answered = await service.answer(
    new Request(url, {
      method: incoming.method ?? "GET",
      headers,
      ...(body.length > 0 ? { body: new Uint8Array(body) } : {}),
    }),
    address === launcherAddress ? undefined : address,
  );
  const cookies = answered.headers.getSetCookie();
  const content = Buffer.from(await answered.arrayBuffer());
  response.writeHead(answered.status, {
    ...Object.fromEntries(answered.headers),
    ...(cookies.length > 0 && { "set-cookie": cookies }),
    ...(incoming.method !== "HEAD" && { "content-length": content.length }),
  });
  response.end(content);
}
