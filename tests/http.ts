import { type Agent, type IncomingHttpHeaders, request } from "node:http";

export interface HttpCall {
  agent: Agent;
  /** A user's access token or a key, sent as Bearer. */
  token?: string | undefined;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is; an array goes out in chunks, without a Content-Length. */
  raw?: string | Uint8Array | string[] | undefined;
  headers?: Record<string, string> | undefined;
  /** The loopback address to call from: Linux has all of 127/8. */
  from?: string | undefined;
}

export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** Undefined if the body is not JSON. */
  body: unknown;
}

/** Sends one request that fetch could not send: with any header, in chunks, or from another address. */
export function send(method: string, url: string, call: HttpCall): Promise<HttpAnswer> {
  const { agent, token, body, raw, from } = call;
  const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const headers: Record<string, string> = { ...call.headers };
  if (token !== undefined) headers.authorization ??= `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] ??= "application/json";
  if (payload !== undefined && !Array.isArray(payload)) {
    headers["content-length"] ??= String(Buffer.byteLength(payload));
  }
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      { method, headers, agent, ...(from === undefined ? {} : { localAddress: from }) },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("error", reject);
        incoming.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, body: parsed(text) });
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.setTimeout(25_000, () => outgoing.destroy(new Error(`no answer to ${method} ${url} within 25 seconds`)));
    if (Array.isArray(payload)) for (const chunk of payload) outgoing.write(chunk);
    outgoing.end(Array.isArray(payload) ? undefined : payload);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
