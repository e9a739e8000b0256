import type { Hono } from "hono";

/** What Deno calls. The router takes the body from an answer to HEAD, and Deno would say that its length is 0. */
export const handlerOf =
  (app: Hono) =>
  async (request: Request, info: Deno.ServeHandlerInfo<Deno.NetAddr>): Promise<Response> => {
    const response = await app.fetch(request, info);
    if (request.method !== "HEAD" || [204, 304].includes(response.status)) return response;
    return new Response(new ReadableStream({ start: (body) => body.close() }), response);
  };
