import { showsSchedulePassword } from "../callers/schedule-password.ts";
import { environment } from "../runtime/environment.ts";
import { keepAlive, keptWork } from "../runtime/keep-alive.ts";
import { flushLog, log } from "../runtime/log.ts";
import { outcomes } from "./outcomes.ts";

type Dispatcher = { dispatch(): Promise<void>; finish(): Promise<void> };

/**
 * The database and a schedule call it with a password; it responds at once and sends afterwards. `others` handle calls
 * of other services, by the end of the path.
 */
export function serveDispatcher(
  { dispatch, finish }: Dispatcher,
  others: Record<string, (request: Request) => Promise<Response>> = {},
): void {
  if (!environment.webhookDispatchSecret)
    throw new Error("WEBHOOK_DISPATCH_SECRET is missing: it authenticates callers (docs/deploy.md)");
  const listen = environment.port ? { port: Number(environment.port), hostname: "127.0.0.1" } : {};
  const server = Deno.serve({ ...listen, onListen: () => {} }, (request) => {
    const path = new URL(request.url).pathname;
    if (path.endsWith("/health")) return Response.json({ status: "ok" });
    const other = Object.entries(others).find(([end]) => path.endsWith(end))?.[1];
    if (other) return other(request);
    if (!showsSchedulePassword(request))
      return Response.json(
        { error: { code: "UNAUTHORIZED", message: "The dispatch secret is not valid.", details: [] } },
        { status: 401 },
      );
    if (request.method !== "POST") return new Response(null, { status: 405, headers: { Allow: "POST" } });
    keepAlive(dispatch().catch((error) => log({ requestId: "dispatch", error })));
    return Response.json({ data: { dispatching: true, outcomes }, meta: {} }, { status: 202 });
  });

  if (environment.port) {
    Deno.addSignalListener("SIGTERM", async () => {
      await server.shutdown();
      // The next dispatcher repeats unfinished deliveries.
      const work = Promise.all([finish().catch(() => {}), keptWork()]);
      await Promise.race([work, new Promise((resolve) => setTimeout(resolve, 4_000))]);
      flushLog();
      Deno.exit(0);
    });
  }
}
