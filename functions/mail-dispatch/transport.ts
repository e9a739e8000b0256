import { environment } from "../_shared/runtime/environment.ts";
import { httpTransport } from "./http.ts";
import type { Transport } from "./message.ts";
import { smtpTransport } from "./smtp.ts";

/** The transport that MAIL_URL names, its server for logs, and the address that mail comes from. */
export function openTransport(): { transport: Transport; server: string; from: string } {
  const from = environment.mailFrom;
  if (!from) throw new Error("MAIL_FROM is missing: the address that mail comes from (docs/mail.md)");
  const transport = transportOf(environment.mailUrl);
  return { transport, server: new URL(environment.mailUrl ?? "").host, from };
}

function transportOf(text = ""): Transport {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^smtps?:$/.test(url.protocol)) return smtpTransport(url);
  const isHere = url && /^(127\.|localhost$|\[::1\]$)/.test(url.hostname);
  if (url && (url.protocol === "https:" || (url.protocol === "http:" && isHere))) return httpTransport(url);
  // Only the beginning is shown: the rest may contain a password.
  const given = url ? `begins with ${url.protocol}//` : text ? "is no address" : "is missing";
  throw new Error(`MAIL_URL ${given}: set it to an address with smtps://, smtp:// or https:// (docs/mail.md)`);
}
