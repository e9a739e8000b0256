import { behindProxy } from "../_shared/http/behind-proxy.ts";
import { handlerOf } from "../_shared/http/head.ts";
import { malformedHost } from "../_shared/http/own-addresses.ts";
import { environment } from "../_shared/runtime/environment.ts";
import { flushLog, logWarning } from "../_shared/runtime/log.ts";
import { closeAgentStreams } from "../mcp/app.ts";
import { app } from "./app.ts";

if (!environment.addressHeader && !environment.addressFromSocket) {
  logWarning("ADDRESS_HEADER is not set: callers without a credential are not limited (docs/deploy.md)");
}
if (!environment.addressHashKey) {
  logWarning(
    "ADDRESS_HASH_KEY is not set: each process counts callers without a credential by itself (docs/deploy.md)",
  );
}

// Hosted Supabase controls listening and shutdown. Elsewhere the function listens on PORT on the loopback interface
// until SIGTERM.
const listen = environment.port ? { port: Number(environment.port), hostname: "127.0.0.1" } : {};
const answer = behindProxy(handlerOf(app));
const server = Deno.serve(
  { ...listen, onListen: () => {} },
  (request, info) => malformedHost(request) ?? answer(request, info),
);

if (environment.port) {
  Deno.addSignalListener("SIGTERM", async () => {
    // Close open streams, which would keep the server from stopping.
    const ended = server.shutdown();
    await closeAgentStreams();
    await ended;
    flushLog();
    Deno.exit(0);
  });
}
