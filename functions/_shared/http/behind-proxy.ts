import { createHash, timingSafeEqual } from "node:crypto";
import type { Context } from "hono";
import { environment } from "../runtime/environment.ts";

type Handler = (request: Request, info: Deno.ServeHandlerInfo<Deno.NetAddr>) => Response | Promise<Response>;

const proxied = new WeakMap<Request, { address: string; host: string }>();

/** The client's address and the host that it asked for, of a request that came through the pages' proxy. */
export const ofProxy = (c: Context) => proxied.get(c.req.raw);

/** Handles requests of the pages' proxy (local/operator/deploy/proxy.js), which knows PROXY_SECRET, and of others. */
export function behindProxy(answer: Handler): Handler {
  const { proxySecret } = environment;
  if (!proxySecret) return answer;
  // Two while it is rotated.
  const expected = proxySecret.split("|").map(digestOf);
  return async (request, info) => {
    const secret = request.headers.get("x-proxy-secret");
    if (!secret || !expected.some((one) => timingSafeEqual(digestOf(secret), one))) return answer(request, info);
    const said = (name: string) => request.headers.get(`x-proxy-${name}`) ?? "";
    const headers = new Headers(request.headers);
    headers.set("accept-encoding", said("accept-encoding"));
    const received = new Request(request, { headers });
    proxied.set(received, { address: said("address"), host: said("host") });
    return sealed(await answer(received, info));
  };
}

/** With its headers in one that the platform does not know, and as a body that it does not compress. */
function sealed({ status, headers, body }: Response): Response {
  return new Response(body, {
    status,
    headers: {
      "Content-Type": headers.get("Content-Type") ?? "application/octet-stream",
      "Cache-Control": "no-store, no-transform",
      "X-Proxy-Headers": JSON.stringify([...headers]),
    },
  });
}

const digestOf = (text: string) => createHash("sha256").update(text).digest();
