import { Hono, type MiddlewareHandler } from "hono";
import { keptText } from "../_shared/http/compression.ts";
import type { Endpoint, JsonResponse, Route, Work } from "../_shared/http/endpoint.ts";
import { publicAddress } from "../_shared/http/own-addresses.ts";
import { asJson, serve } from "../_shared/http/serve.ts";
import { openApi } from "./documentation/openapi.ts";
import { page } from "./documentation/page.ts";
import { contentSecurityPolicy } from "./documentation/style.ts";

/** The document is the same for everybody, so that pages of any origin may read it, without credentials. */
const readByEveryOrigin: MiddlewareHandler = async (c, next) => {
  await next();
  c.header("Access-Control-Allow-Origin", "*");
  c.header("Access-Control-Allow-Credentials");
  c.header("Access-Control-Allow-Methods", "GET");
  c.header("Access-Control-Allow-Headers", "*, Authorization");
};

/** GET /openapi.json and /docs, built from the endpoints at the first request and kept. */
export function documentation(endpoints: readonly Endpoint[]): Hono {
  const app = new Hono();
  const serveText = (path: string, textOf: () => string, headers: Record<string, string>) => {
    let text: JsonResponse | undefined;
    const route: Route = {
      method: "get",
      path,
      access: "public",
      work: async ({ execute }: Work) => {
        await execute([]);
        text ??= keptText({ text: textOf() }, { "Cache-Control": "public, max-age=300", ...headers });
        return text;
      },
    };
    // For everybody alike: a credential, such as an old cookie, does not count.
    app.get(path, (c) => serve(c, route, { ...asJson, credential: () => ({ kind: "none" }) }));
  };
  app.use("/openapi.json", readByEveryOrigin);
  serveText("/openapi.json", () => JSON.stringify(openApi(endpoints, publicAddress)), {});
  // Hosted projects without a custom domain serve this as text/plain.
  serveText("/docs", () => page(openApi(endpoints, publicAddress)), {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": contentSecurityPolicy,
    "Referrer-Policy": "no-referrer",
  });
  return app;
}
