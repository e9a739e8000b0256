import { inject, vi } from "vitest";

/**
 * Imports a module of functions/, which at that time needs only these of Deno's. All test files have the same
 * environment, since files that run in one process share the module.
 */
export async function importFunction<Module>(url: URL): Promise<Module> {
  const { superuserUrl } = inject("stack");
  vi.stubGlobal("Deno", {
    env: { get: (name: string) => (name === "DATABASE_URL" ? superuserUrl : undefined) },
  });
  try {
    return (await import(url.href)) as Module;
  } finally {
    vi.unstubAllGlobals();
  }
}
