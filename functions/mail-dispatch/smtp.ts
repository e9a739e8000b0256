import { Buffer } from "node:buffer";
import nodemailer from "nodemailer";
import { environment } from "../_shared/runtime/environment.ts";
import type { Outcome } from "./database.ts";
import type { Message, Transport } from "./message.ts";

export const maxConnections = 5;
const connectMs = 10_000;
/** Time without data after which a connection counts as dead. */
const silenceMs = environment.mailTimeoutSeconds * 1000;
/** Total; shorter than a claim, so that no other dispatcher sends the same mail meanwhile. */
const maxSendMs = 90_000;

/** smtps://, or smtp:// with STARTTLS; without TLS to this machine only. */
export function smtpTransport(url: URL): Transport {
  const secure = url.protocol === "smtps:";
  const hostname = url.hostname.replace(/^\[|\]$/g, "");
  const isHere = /^(127\.|localhost$|::1$)/.test(hostname);
  const options = {
    pool: true as const,
    host: hostname,
    port: Number(url.port || (secure ? 465 : 587)),
    secure,
    requireTLS: !secure && !isHere,
    ignoreTLS: !secure && isHere,
    ...(url.username && { auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } }),
    maxConnections,
    // No queue of nodemailer: the mail stays in the database's queue, which repeats failed attempts.
    maxRequeues: 0,
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: silenceMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  const open = () => {
    const pool = nodemailer.createTransport(options);
    // Each mail gets its own error.
    pool.on("error", () => {});
    return pool;
  };
  let pool: ReturnType<typeof open> | undefined;
  const close = () => {
    pool?.close();
    pool = undefined;
  };
  return {
    async send(message) {
      pool ??= open();
      let timer: ReturnType<typeof setTimeout> | undefined;
      const overdue = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(Object.assign(new Error("late"), { code: "ETIMEDOUT" })), maxSendMs);
      });
      try {
        await Promise.race([pool.sendMail(mailOf(message)), overdue]);
        return { outcome: "sent" };
      } catch (error) {
        return outcomeOf(error as SmtpError);
      } finally {
        clearTimeout(timer);
      }
    },
    close,
  };
}

function mailOf({ from, to, subject, html, text, messageId, references, headers, date }: Message) {
  const sender = from.name.includes("=?")
    ? {
        // A header of another name is not parsed, which would quote the words.
        headers: { ...headers, "Written-From": `${encoded(from.name)} <${from.address}>` },
        normalizeHeaderKey: (key: string) => (key === "Written-From" ? "From" : key),
      }
    : { from, headers };
  return {
    ...sender,
    to: { name: "", address: to },
    envelope: { from: from.address, to: [to] },
    subject: subject.includes("=?") ? encoded(subject) : subject,
    html,
    text,
    messageId,
    ...(references && { references, inReplyTo: references }),
    date,
  };
}

/** A text as encoded words (RFC 2047). Nodemailer passes those that somebody wrote on as such, and mail programs decode them. */
const encoded = (text: string) =>
  [...text.matchAll(/.{1,10}/gsu)].map(([part]) => `=?utf-8?B?${Buffer.from(part).toString("base64")}?=`).join(" ");

type SmtpError = Error & { code?: string; command?: string; response?: string; responseCode?: number };

/** Classifies an error of the server. Before RCPT TO it concerns this service, after it the address or the mail. */
function outcomeOf({ code = "", command = "", response = "", responseCode = 0, message }: SmtpError): Outcome {
  const error = responseCode > 0 ? `${command || code} was answered ${responseCode}.` : meaningOf(code, message);
  const isOfMail = /^(RCPT|DATA|BDAT)/.test(command);
  if (!isOfMail || responseCode === 421) {
    // A connection that broke or stalled once the server had accepted it says nothing about other mails: only this one
    // is retried.
    const isCutOff = responseCode === 0 && /ECONNECTION|ESOCKET/.test(code) && command !== "CONN";
    const isSilent = /^(?:Timeout|late)$/.test(message);
    return { outcome: isCutOff || isSilent ? "retry" : "unavailable", error };
  }
  if (responseCode >= 400 && responseCode < 500) return { outcome: "retry", error };
  // The mailbox does not exist or takes nothing (RFC 5321, 4.2.3); a mail rejected for its content or by a policy
  // (RFC 3463, 5.6 and 5.7) does not mean that.
  const isOfContent = /^\d{3}[ -]5\.[67]\./.test(response);
  const isOfAddress = !isOfContent && (command.startsWith("RCPT") || [550, 551, 553].includes(responseCode));
  return { outcome: responseCode === 0 ? "retry" : isOfAddress ? "refused" : "failed", error };
}

const meaningOf = (code: string, message: string) =>
  ({
    ETIMEDOUT: "The server did not answer in time.",
    ECONNECTION: "The connection was refused or closed.",
    ESOCKET: "The connection was refused or closed.",
    EDNS: "The name of the server does not resolve.",
    EAUTH: "The server refused the sign-in.",
    ETLS: "The server does not offer valid TLS.",
  })[code] ?? `The email could not be sent (${code || message.slice(0, 60)}).`;
