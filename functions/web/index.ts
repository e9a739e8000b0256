import { behindProxy } from "../_shared/http/behind-proxy.ts";
import { handlerOf } from "../_shared/http/head.ts";
import { malformedHost } from "../_shared/http/own-addresses.ts";
import { environment } from "../_shared/runtime/environment.ts";
import { keptWork } from "../_shared/runtime/keep-alive.ts";
import { flushLog } from "../_shared/runtime/log.ts";
import { app } from "./app.ts";

const listen = environment.port ? { port: Number(environment.port), hostname: environment.host } : {};
const answer = behindProxy(handlerOf(app));
const server = Deno.serve(
  { ...listen, onListen: () => {} },
  (request, info) => malformedHost(request) ?? answer(withoutFunctionName(request), info),
);

/** Supabase calls a function with its name before the path; direct requests have no prefix. */
function withoutFunctionName(request: Request): Request {
  const url = new URL(request.url);
  if (url.pathname !== "/web" && !url.pathname.startsWith("/web/")) return request;
  url.pathname = url.pathname.slice("/web".length) || "/";
  return new Request(url, request);
}

if (environment.port) {
  Deno.addSignalListener("SIGTERM", async () => {
    await server.shutdown();
    await keptWork();
    flushLog();
    Deno.exit(0);
  });
}
