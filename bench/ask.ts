import { type Agent, request } from "node:http";

interface Asked {
  agent?: Agent;
  method?: string;
  body?: string;
  token?: string;
  headers?: Record<string, string>;
  /** The loopback address to call from. */
  from?: string;
}

/** The status after the complete response; 0 if the connection broke. */
export function ask(url: string, { agent, method = "GET", body, token, headers, from }: Asked): Promise<number> {
  return new Promise((resolve) => {
    const outgoing = request(
      url,
      {
        method,
        agent,
        headers: { ...headers, ...(token && { authorization: `Bearer ${token}` }) },
        ...(from && { localAddress: from }),
      },
      (incoming) => {
        incoming.resume();
        incoming.on("close", () => resolve(incoming.statusCode ?? 0));
      },
    );
    outgoing.on("error", () => resolve(0));
    outgoing.end(body);
  });
}
