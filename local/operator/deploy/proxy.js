// @ts-nocheck: each platform has types of its own.
/**
 * The proxy of the pages (docs/deploy.md): passes what comes to the address of the pages to the functions `web` and
 * `api` of hosted Supabase. Cloudflare Workers run this file as it is; write-proxy.ts writes the few lines that other
 * platforms need.
 *
 * The header x-proxy-headers of an answer holds the headers that the function has set. The platform in between changes
 * some, such as the content type of HTML, so only these leave.
 */

/** Not passed on: they belong to one connection, or are for the functions to believe from this proxy only. */
const notPassed =
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-length|accept-encoding|cdn-loop|expect|forwarded|true-client-ip|x-real-ip|(?:proxy|x-proxy|x-forwarded|cf|x-vercel|x-nf)-.*)$/;

/** A path that a server which decodes it would read as another one. */
const escaping = /(?:\.|%2e){2}(?:%2f|%5c)|(?:%2f|%5c)(?:\.|%2e){2}/i;

/**
 * @param {Request} request
 * @param {{ FUNCTIONS_URL?: string, PROXY_SECRET?: string }} settings such as https://<ref>.supabase.co/functions/v1
 * @param {string | null | undefined} address of the client, as the platform knows it
 */
export async function proxy(request, { FUNCTIONS_URL, PROXY_SECRET }, address) {
  if (!FUNCTIONS_URL || !PROXY_SECRET) return problem(502, "FUNCTIONS_URL or PROXY_SECRET of the proxy is not set.");
  const { host, pathname, search } = new URL(request.url);
  if (escaping.test(pathname)) return problem(400, "This address is malformed.");
  const isApi = pathname === "/api" || pathname.startsWith("/api/");
  const isSocket = request.method === "GET" && request.headers.get("upgrade")?.toLowerCase() === "websocket";
  try {
    const answer = await fetch(`${FUNCTIONS_URL}${isApi ? "" : "/web"}${pathname}${search}`, {
      method: request.method,
      headers: [
        ...passedHeaders(request.headers),
        ...(isSocket ? [["upgrade", "websocket"]] : []),
        ["x-proxy-secret", PROXY_SECRET],
        ["x-proxy-host", host],
        ["x-proxy-address", address ?? ""],
        // Cloudflare replaces the client's, and so does the platform behind.
        ["x-proxy-accept-encoding", request.cf?.clientAcceptEncoding ?? request.headers.get("accept-encoding") ?? ""],
      ],
      body: ["GET", "HEAD"].includes(request.method) ? null : request.body,
      duplex: "half",
      redirect: "manual",
    });
    if (answer.webSocket) return accepted(answer);
    const sent = answer.headers.get("x-proxy-headers");
    if (sent) return restored(answer, JSON.parse(sent));
    await answer.body?.cancel();
    if (answer.ok) return problem(502, "PROXY_SECRET of the proxy is not that of the functions.");
    return problem(502, `The service is not available (${answer.status}). Try again in a minute.`);
  } catch (error) {
    console.error(error);
    return problem(502, "The service cannot be reached. Try again in a minute.");
  }
}

function passedHeaders(headers) {
  const ofConnection = (headers.get("connection") ?? "").toLowerCase().split(/\s*,\s*/);
  return [...headers].filter(([name]) => !notPassed.test(name) && !ofConnection.includes(name));
}

function restored({ status, body }, headers) {
  const isEmpty = [204, 205, 304].includes(status);
  // The function has compressed the body already: Cloudflare must not do so for its Content-Encoding.
  return new Response(isEmpty ? null : body, { status, headers, encodeBody: "manual" });
}

function accepted({ webSocket, headers }) {
  const protocol = headers.get("sec-websocket-protocol");
  return new Response(null, {
    status: 101,
    webSocket,
    headers: protocol ? { "sec-websocket-protocol": protocol } : {},
  });
}

function problem(status, text) {
  const headers = { "Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store" };
  return new Response(`${text}\n`, { status, headers });
}

/** Cloudflare Workers. */
export default { fetch: (request, settings) => proxy(request, settings, request.headers.get("cf-connecting-ip")) };
