import { supabaseAuthorities } from "./supabase-authorities.ts";

/**
 * The authorities that sign the certificate of a database's server, in PEM: none means those that the runtime knows.
 * Undefined where the URL wants no TLS. Every sslmode that encrypts means verify-full, for Deno verifies always.
 */
export function authoritiesFor(
  variable: string,
  url: string,
  authority: string | undefined,
): string[] | undefined {
  const { searchParams, hostname } = new URL(url);
  const isHosted = /\.supabase\.(co|com)$/i.test(hostname);
  const mode = searchParams.get("sslmode") ?? (isHosted ? "verify-full" : "disable");
  if (!["disable", "require", "verify-ca", "verify-full"].includes(mode) || searchParams.has("ssl"))
    throw new Error(
      `${variable} must say sslmode=verify-full, verify-ca, require or disable (docs/deploy.md): there is no fall-back to plain text`,
    );
  if (mode === "disable") return undefined;
  if (authority) return [pemOf(authority)];
  return isHosted ? [supabaseAuthorities] : [];
}

/** An env file may hold the lines of a PEM in one, with \n between them. */
const pemOf = (text: string) => text.replaceAll("\\n", "\n");
