import { Hono } from "hono";
import type { Endpoint, Route, Work } from "../_shared/http/endpoint.ts";
import { keptText } from "../_shared/http/kept-text.ts";
import { asJson, serve } from "../_shared/http/serve.ts";
import { openApi } from "./documentation/openapi.ts";
import { page } from "./documentation/page.ts";
import { contentSecurityPolicy } from "./documentation/style.ts";

/** GET /openapi.json and /docs, built from the endpoints at the first request and kept. */
export function documentation(endpoints: readonly Endpoint[]): Hono {
  const app = new Hono();
  const serveText = (path: string, textOf: () => string, headers: Record<string, string>) => {
    let text: ReturnType<typeof keptText> | undefined;
    const route: Route = {
      method: "get",
      path,
      access: "public",
      work: async ({ request, execute }: Work) => {
        await execute([]);
        text ??= keptText(textOf(), { "Cache-Control": "public, max-age=300", ...headers });
        return text(request);
      },
    };
    // For everybody alike: a credential, such as an old cookie, does not count.
    app.get(path, (c) => serve(c, route, { ...asJson, credential: () => ({ kind: "none" }) }));
  };
  serveText("/openapi.json", () => JSON.stringify(openApi(endpoints)), {});
  // Hosted projects without a custom domain serve this as text/plain.
  serveText("/docs", () => page(openApi(endpoints)), {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": contentSecurityPolicy,
    "Referrer-Policy": "no-referrer",
  });
  return app;
}
