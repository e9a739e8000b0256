import { environment } from "../_shared/runtime/environment.ts";
import { createAuthMail } from "./hook.ts";

// Auth's Send Email hook as a function of its own.
const answer = createAuthMail();
const listen = environment.port ? { port: Number(environment.port), hostname: "127.0.0.1" } : {};

Deno.serve({ ...listen, onListen: () => {} }, (request) =>
  new URL(request.url).pathname.endsWith("/health") ? Response.json({ status: "ok" }) : answer(request),
);
