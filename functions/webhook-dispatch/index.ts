import { environment } from "../_shared/environment.ts";
import { keepAlive } from "../_shared/keep-alive.ts";
import { flushLog, log } from "../_shared/log.ts";
import { showsSchedulePassword } from "../_shared/schedule-password.ts";
import { dispatch, finish } from "./dispatcher.ts";

// Called by the database and by a schedule, with a password; answers at once and sends afterwards.
if (!environment.webhookDispatchSecret)
  throw new Error("WEBHOOK_DISPATCH_SECRET is missing: callers prove themselves by it (docs/deploy.md)");

const listen = environment.port ? { port: Number(environment.port), hostname: "127.0.0.1" } : {};
const server = Deno.serve({ ...listen, onListen: () => {} }, answer);

function answer(request: Request): Response {
  if (new URL(request.url).pathname.endsWith("/health")) return Response.json({ status: "ok" });
  if (!showsSchedulePassword(request))
    return Response.json(
      { error: { code: "UNAUTHORIZED", message: "The password is not valid.", details: [] } },
      { status: 401 },
    );
  if (request.method !== "POST") return new Response(null, { status: 405, headers: { Allow: "POST" } });
  const run = dispatch().catch((error) => log({ requestId: "dispatch", error }));
  keepAlive(run);
  return Response.json({ data: { dispatching: true } }, { status: 202 });
}

if (environment.port) {
  Deno.addSignalListener("SIGTERM", async () => {
    await server.shutdown();
    // What takes longer is sent again by the next dispatcher.
    await Promise.race([finish().catch(() => {}), new Promise((resolve) => setTimeout(resolve, 4_000))]);
    flushLog();
    Deno.exit(0);
  });
}
