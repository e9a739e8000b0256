import { environment } from "../_shared/environment.ts";
import { app } from "./app.ts";

// Hosted Supabase chooses where to listen and when to stop; elsewhere PORT does, on the loopback interface, until SIGTERM.
const listen = environment.port ? { port: Number(environment.port), hostname: "127.0.0.1" } : {};
const server = Deno.serve({ ...listen, onListen: () => {} }, (request, info) => app.fetch(request, info));

if (environment.port) {
  Deno.addSignalListener("SIGTERM", async () => {
    await server.shutdown();
    Deno.exit(0);
  });
}
