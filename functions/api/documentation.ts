import { Hono } from "hono";
import type { Endpoint } from "../_shared/endpoint.ts";
import { openApi } from "./documentation/openapi.ts";
import { page } from "./documentation/page.ts";
import { contentSecurityPolicy } from "./documentation/style.ts";

const headers = { "Cache-Control": "public, max-age=300", "X-Content-Type-Options": "nosniff" };

/** GET /openapi.json and /docs, built from the endpoints at the first request and cached as text. */
export function documentation(endpoints: readonly Endpoint[]): Hono {
  const document = once(() => openApi(endpoints));
  const json = once(() => JSON.stringify(document()));
  const html = once(() => page(document()));
  return new Hono()
    .get("/openapi.json", (c) =>
      c.body(json(), 200, { ...headers, "Content-Type": "application/json; charset=utf-8" }),
    )
    .get("/docs", (c) =>
      // Hosted projects without a custom domain serve this as text/plain.
      c.body(html(), 200, {
        ...headers,
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": contentSecurityPolicy,
        "Referrer-Policy": "no-referrer",
      }),
    );
}

function once<Value>(make: () => Value): () => Value {
  let created: { value: Value } | undefined;
  return () => {
    created ??= { value: make() };
    return created.value;
  };
}
