import { supabaseAuthorities } from "./supabase-authorities.ts";

/**
 * PEM certificates of the authorities to trust for a database server; none means those of the runtime. Undefined if the
 * URL disables TLS. Every other sslmode means verify-full, because Deno always verifies.
 */
export function authoritiesFor(variable: string, url: string, authority: string | undefined): string[] | undefined {
  const { searchParams, hostname } = new URL(url);
  const isHosted = /\.supabase\.(co|com)$/i.test(hostname);
  const mode = searchParams.get("sslmode") ?? (isHosted ? "verify-full" : "disable");
  if (!["disable", "require", "verify-ca", "verify-full"].includes(mode) || searchParams.has("ssl"))
    throw new Error(
      `${variable} must have sslmode=verify-full, verify-ca, require or disable (docs/deploy.md): falling back to plain text is not supported`,
    );
  if (mode === "disable") return undefined;
  if (authority) return [pemOf(authority)];
  return isHosted ? [supabaseAuthorities] : [];
}

/** An env file may contain a PEM in one line, with \n between its lines. */
const pemOf = (text: string) => text.replaceAll("\\n", "\n");
