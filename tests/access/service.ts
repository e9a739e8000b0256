import type { EndpointDescription } from "../../functions/_shared/http/endpoint.ts";
import type { Scope } from "../../shared/scopes.ts";
import type { Method } from "../api/client.ts";
import { importFunction } from "../import-function.ts";

/** An endpoint, whose scopes no test changes. */
type TestedEndpoint = Omit<EndpointDescription, "scopes"> & {
  scopes?: readonly Scope[];
  precheck?: unknown;
  work?: unknown;
};

export type Route = {
  method: Method;
  path: string;
  scopes: readonly Scope[];
  /** Undefined for the few routes that are not endpoints. */
  endpoint?: TestedEndpoint | undefined;
};

type App = { endpoints: TestedEndpoint[]; app: { routes: { method: string; path: string }[] } };

const scopesOf = (endpoint?: TestedEndpoint) => (endpoint?.access === "caller" ? (endpoint.scopes ?? []) : []);

/** Every route of the service, as the router has it: the endpoints and the few other routes. */
export async function routesOfTheService(): Promise<Route[]> {
  const service = await importFunction<App>(new URL("../../functions/api/app.ts", import.meta.url));
  const endpoints = new Map(
    service.endpoints.map((endpoint) => [`${endpoint.method.toUpperCase()} /api${endpoint.path}`, endpoint]),
  );
  // ALL and OPTIONS are the middleware and the preflight, which have no caller.
  const routed = service.app.routes.filter(({ method }) => method !== "ALL" && method !== "OPTIONS");
  const entries = routed.map(({ method, path }) => ({
    method: method as Method,
    path: path.replace(/\/$/, ""),
    scopes: scopesOf(endpoints.get(`${method} ${path}`)),
    endpoint: endpoints.get(`${method} ${path}`),
  }));
  // Middleware for one path is listed with the path's own handler.
  const routes = [...new Map(entries.map((route) => [`${route.method} ${route.path}`, route])).values()];
  const missing = [...endpoints.keys()].filter(
    (name) => !routes.some(({ method, path }) => `${method} ${path}` === name),
  );
  if (missing.length > 0) throw new Error(`endpoints that are not routed: ${missing.join(", ")}`);
  return routes;
}
