// The functions run in Deno and are checked by it; tests import parts of them, which name only this of it.
declare namespace Deno {
  const env: { get(name: string): string | undefined };
  function serve(
    options: { hostname: string; port: number; onListen: (address: { port: number }) => void },
    handler: (request: Request) => Response | Promise<Response>,
  ): unknown;
}
