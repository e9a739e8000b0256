// The functions run in Deno and are checked by it; tests import parts of them, which name only this of it.
declare namespace Deno {
  const env: { get(name: string): string | undefined };
}
