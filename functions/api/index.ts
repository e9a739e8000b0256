import { environment } from "../_shared/environment.ts";
import { app } from "./app.ts";

// Hosted Supabase chooses where to listen; elsewhere PORT does, on the loopback interface.
const listen = environment.port ? { port: Number(environment.port), hostname: "127.0.0.1" } : {};
Deno.serve({ ...listen, onListen: () => {} }, (request, info) => app.fetch(request, info));
