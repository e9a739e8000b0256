import { environment } from "../_shared/runtime/environment.ts";
import { logWarning } from "../_shared/runtime/log.ts";
import { httpTransport } from "./http.ts";
import type { Transport } from "./message.ts";
import { smtpTransport } from "./smtp.ts";

/** While the server takes no mail, the log says so this often. */
const tellMs = 600_000;

/** The transport that MAIL_URL names, and the address that mail comes from. */
export function openTransport(): { transport: Transport; from: string } {
  const from = environment.mailFrom;
  if (!from) throw new Error("MAIL_FROM is missing: the address that mail comes from (docs/mail.md)");
  const transport = transportOf(environment.mailUrl);
  return { transport: telling(transport, new URL(environment.mailUrl ?? "").host), from };
}

/** Logs when the server takes no mail, and when it takes mail again. */
function telling(transport: Transport, server: string): Transport {
  let toldAt: number | undefined;
  return {
    ...transport,
    async send(message) {
      const sent = await transport.send(message);
      const { outcome, error } = sent;
      if (outcome === "unavailable" && performance.now() - (toldAt ?? Number.NEGATIVE_INFINITY) > tellMs) {
        toldAt = performance.now();
        logWarning(
          `The mail server ${server} takes no mail: ${error} Mail about feedback waits for up to three days and is tried each minute, mail about accounts for some minutes.`,
        );
      } else if (outcome === "sent" && toldAt !== undefined) {
        toldAt = undefined;
        logWarning(`The mail server ${server} takes mail again.`);
      }
      return sent;
    },
  };
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
