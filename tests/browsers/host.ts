import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * A separate site that embeds the widget: it is at localhost and the service at 127.0.0.1, so that they are different
 * sites.
 */
export interface Host {
  origin: string;
  close(): void;
}

type HostOptions = {
  /** The origin of the service. */
  service: string;
  /** Answers of the host's backend, by path. */
  backend?: (path: string) => Promise<string | undefined>;
  /** The page's own script, at /page.js. */
  script: (path: string) => string;
  style?: string;
  /** Content for the body of the page. */
  body?: string;
  /** Additional directives of its policy, such as a script-src that the test extends. */
  policy?: string;
};

/** The strictest policy that docs/embed.md promises the widget works with. */
export const strictPolicy = (service: string) =>
  [
    "default-src 'none'",
    `script-src 'self' ${service}`,
    "style-src 'self'",
    "connect-src 'self'",
    `frame-src ${service}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");

export async function startHost({
  service,
  backend,
  script,
  style = "",
  body = "",
  policy,
}: HostOptions): Promise<Host> {
  const server = createServer(async (request, response) => {
    const path = request.url ?? "/";
    const answered = await backend?.(path);
    if (answered !== undefined) {
      response.writeHead(200, { "content-type": "text/plain" });
      return response.end(answered);
    }
    if (path === "/page.css") {
      response.writeHead(200, { "content-type": "text/css" });
      return response.end(style);
    }
    if (path.startsWith("/page.js")) {
      response.writeHead(200, { "content-type": "text/javascript" });
      return response.end(script(request.headers.referer ?? ""));
    }
    response.writeHead(200, {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy ?? strictPolicy(service),
    });
    response.end(`<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>Host</title><link rel="stylesheet" href="/page.css">
      ${body}<script src="/page.js"></script><script async src="${service}/widget.js"></script></html>`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
