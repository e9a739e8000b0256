import { inject, vi } from "vitest";

/**
 * Imports a module of functions/, which uses only these members of Deno when it is loaded. All test files have the same
 * environment, since files that run in one process share the module.
 */
export async function importFunction<Module>(url: URL): Promise<Module> {
  const variables: Record<string, string> = {
    DATABASE_URL: inject("stack").superuserUrl,
    WEBHOOK_SECRETS_KEYS: `test:${Buffer.alloc(32, "k").toString("base64url")}`,
  };
  vi.stubGlobal("Deno", { env: { get: (name: string) => variables[name] } });
  try {
    return (await import(url.href)) as Module;
  } finally {
    vi.unstubAllGlobals();
  }
}
