import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { MailHookOptions } from "../auth/mail-hook.ts";
import type { CommonOrder, CommonReport } from "../processes/node-process.ts";
import { listen } from "../processes/ports.ts";
import { messageOf } from "../processes/start-error.ts";
import type { LiteSecrets } from "./auth-config.ts";
import { isAuthPath } from "./paths.ts";

export interface AuthOptions {
  /** Database URL of the service's own login. */
  databaseUrl: string;
  secrets: LiteSecrets;
  /** Public URL. */
  siteUrl: string;
  /** Header with the client address from the gateway. Its random name prevents other local callers. */
  addressHeader: string;
  /** Configuration of auth's rate limits and mail. */
  guard: {
    databaseUrl: string;
    addressHashKey: string;
    mailPath: string;
    pagesUrl: string;
    /** Writes and sends auth's mails. */
    mailHook?: MailHookOptions | undefined;
    /** Mail is really sent: addresses must be confirmed, and codes and links are not written to a file. */
    sendsMail?: boolean;
  };
}

export interface Service {
  answer(request: Request, clientAddress: string): Promise<Response>;
  close(): Promise<void>;
}

/** Messages from the launcher. */
type Order = CommonOrder<AuthOptions> | { type: "ping" };
type Report = CommonReport | { type: "pong" };

const send = (message: Report) => process.send?.(message);

/** Reports to the operator. */
export const sendWarning = (message: string) => send({ type: "warning", message });

/** Runs the process of auth. */
export function runService(open: (options: AuthOptions) => Promise<Service>): void {
  // Silences lite's logs, which contain codes, links and rows of failed statements.
  for (const method of ["log", "info", "warn", "error", "debug"] as const) console[method] = () => undefined;
  let service: Service | undefined;

  const start = async (options: AuthOptions) => {
    const opened = await open(options);
    service = opened;
    const server = createServer((incoming, response) => {
      answer(options, opened, incoming, response).catch(() => response.destroy());
    });
    server.keepAliveTimeout = 65_000;
    await listen(server, 0, "PORT");
    const address = server.address();
    send({ type: "ready", port: typeof address === "object" && address ? address.port : 0 });
  };

  process.on("message", (order: Order) => {
    if (order.type === "ping") send({ type: "pong" });
    else if (order.type === "start")
      start(order.options).catch((error: unknown) => {
        process.send?.({ type: "failed", message: messageOf(error) } satisfies Report, () => process.exit(1));
      });
    else
      Promise.resolve(service?.close())
        .catch(() => undefined)
        .then(() => process.exit(0));
  });
  // Ctrl-C in a terminal reaches this process too. Ignore it: the launcher stops processes in order.
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => undefined);
  process.on("disconnect", () => process.exit(0));
}

async function answer(
  { addressHeader, siteUrl }: AuthOptions,
  service: Service,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const address = incoming.headers[addressHeader];
  if (typeof address !== "string") return void incoming.socket.destroy();
  const [path = "", ...rest] = (incoming.url ?? "").split("?");
  if (!isAuthPath(path)) return void response.writeHead(404).end();
  const url = new URL(siteUrl);
  url.pathname = path;
  url.search = rest.join("?");
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const headers = Object.entries(incoming.headersDistinct).flatMap(([header, values = []]) =>
    header === addressHeader || header === "host" ? [] : values.map((value): [string, string] => [header, value]),
  );
  const answered = await service.answer(
    new Request(url, {
      method: incoming.method ?? "GET",
      headers,
      ...(body.length > 0 ? { body: new Uint8Array(body) } : {}),
    }),
    address,
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
