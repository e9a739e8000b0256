// The functions run in Deno, which checks their types; tests import parts of them that use only these members of Deno.
declare namespace Deno {
  const env: { get(name: string): string | undefined };
  function serve(
    options: { hostname: string; port: number; onListen: (address: { port: number }) => void },
    handler: (request: Request) => Response | Promise<Response>,
  ): unknown;
  interface Conn {
    read(into: Uint8Array): Promise<number | null>;
    write(bytes: Uint8Array): Promise<number>;
    close(): void;
  }
  interface TcpConn extends Conn {
    setNoDelay(on: boolean): void;
    setKeepAlive(on: boolean): void;
  }
  interface TlsConn extends Conn {
    handshake(): Promise<unknown>;
  }
  function connect(to: { hostname: string; port: number }): Promise<TcpConn>;
  function startTls(conn: Conn, options: { hostname: string; caCerts: string[] }): Promise<TlsConn>;
}
