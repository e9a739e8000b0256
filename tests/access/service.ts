import { vi } from "vitest";
import type { DocumentedEndpoint } from "../../functions/api/documentation/model.ts";
import type { Scope } from "../../shared/scopes.ts";
import type { Method } from "../api/client.ts";
import type { Route } from "./callers.ts";

type App = {
  endpoints: (Omit<DocumentedEndpoint, "scopes"> & { scopes?: readonly Scope[] })[];
  app: { routes: { method: string; path: string }[] };
};

/** Every route the service answers, as its router has it: those of the endpoints and the few beside them. */
export async function routesOfTheService(): Promise<Route[]> {
  // All the app takes of Deno before a request comes.
  vi.stubGlobal("Deno", {
    env: { get: (name: string) => (name === "DATABASE_URL" ? "postgres://127.0.0.1:1" : undefined) },
  });
  const service = (await import(new URL("../../functions/api/app.ts", import.meta.url).href)) as App;
  const scopes = new Map(
    service.endpoints.map(({ method, path, access, scopes = [] }) => [
      `${method.toUpperCase()} /api${path}`,
      access === "caller" ? scopes : [],
    ]),
  );
  // ALL and OPTIONS are the middleware and the preflight, which know no caller.
  const routed = service.app.routes.filter(({ method }) => method !== "ALL" && method !== "OPTIONS");
  const entries = routed.map(({ method, path }) => ({
    method: method as Method,
    path: path.replace(/\/$/, ""),
    scopes: scopes.get(`${method} ${path}`) ?? [],
  }));
  // A middleware of one path is in the list with the path's own handler.
  const routes = [...new Map(entries.map((route) => [`${route.method} ${route.path}`, route])).values()];
  const missing = [...scopes.keys()].filter(
    (name) => !routes.some(({ method, path }) => `${method} ${path}` === name),
  );
  if (missing.length > 0) throw new Error(`endpoints that are not routed: ${missing.join(", ")}`);
  return routes;
}
