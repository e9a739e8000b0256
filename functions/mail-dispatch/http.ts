import type { Outcome } from "./database.ts";
import type { Transport } from "./message.ts";

const timeoutMs = 30_000;

/** An HTTP API in the form of Resend's: https://:<key>@api.resend.com/emails. Without TLS to this machine only. */
export function httpTransport(url: URL): Transport {
  const key = decodeURIComponent(url.password);
  const address = new URL(url);
  address.username = "";
  address.password = "";
  return {
    async send({ id, from, to, subject, html, text, messageId, references, headers }) {
      const body = {
        from: `"${asWritten(from.name).replaceAll(/["\\]/g, "")}" <${from.address}>`,
        to: [to],
        subject: asWritten(subject),
        html,
        text,
        headers: {
          "Message-ID": messageId,
          ...(references && { References: references, "In-Reply-To": references }),
          ...headers,
        },
      };
      try {
        const response = await fetch(address, {
          method: "POST",
          headers: {
            Authorization: `Bearer ${key}`,
            "Content-Type": "application/json",
            // The provider treats a second request with the same key within a day as the same mail.
            "Idempotency-Key": id,
          },
          body: JSON.stringify(body),
          redirect: "manual",
          signal: AbortSignal.timeout(timeoutMs),
        });
        await response.body?.cancel();
        return outcomeOf(response);
      } catch {
        return { outcome: "unavailable", error: "The provider did not answer." };
      }
    },
    close() {},
  };
}

/** No mail program decodes an encoded word (RFC 2047) with a word joiner, however the provider writes its headers. */
const asWritten = (text: string) => text.replaceAll("=?", "=\u2060?");

function outcomeOf({ status, headers }: Response): Outcome {
  const error = `The provider answered ${status}.`;
  if (status >= 200 && status < 300) return { outcome: "sent" };
  if (status === 429 || status >= 500) {
    const told = headers.get("Retry-After") ?? "";
    const seconds = /^\d{1,6}$/.test(told) ? Number(told) : (Date.parse(told) - Date.now()) / 1000;
    return { outcome: "unavailable", error, ...(seconds > 0 && { retry_after: Math.ceil(seconds) }) };
  }
  // The key, the sender or the URL of the API is wrong, which only the operator can fix.
  if ([301, 302, 307, 308, 401, 403, 404, 405].includes(status)) return { outcome: "unavailable", error };
  return { outcome: status === 409 ? "retry" : "failed", error };
}
