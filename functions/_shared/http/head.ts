import type { Hono } from "hono";

/** The handler for Deno.serve. Hono removes the body of a response to HEAD, and Deno would send Content-Length: 0; a stream has no length. */
export const handlerOf =
  (app: Hono) =>
  async (request: Request, info: Deno.ServeHandlerInfo<Deno.NetAddr>): Promise<Response> => {
    const response = await app.fetch(request, info);
    if (request.method !== "HEAD" || [204, 304].includes(response.status)) return response;
    return new Response(new ReadableStream({ start: (body) => body.close() }), response);
  };
