import { randomBytes, randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { same } from "../auth/identity.ts";
import { wholeBody } from "../gateway/body.ts";

/** A mail in the format of the provider's API. */
interface CapturedMail {
  at: string;
  from: string;
  to: string[];
  subject: string;
  html?: string;
  text?: string;
  headers?: Record<string, string>;
}

export interface MailCapture {
  /** The MAIL_URL of this server. */
  url: string;
  /** Path of the page that shows the mails. It contains a secret, because a proxy makes everybody look local. */
  path: string;
  /** Responds to /_mail of the gateway; false for other paths. */
  answer(response: ServerResponse, path: string): boolean;
  stop(): Promise<void>;
}

const maxStored = 500;
const maxListed = 200;
const maxBytes = 1024 * 1024;
const maxReceiveMs = 10_000;

/** Replaces a mail provider: stores mails as files readable by their owner only, and shows them. */
export async function startMailCapture(folder: string): Promise<MailCapture> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const key = randomBytes(24).toString("base64url");
  const base = `/_mail/${key}`;
  const server = createServer((request, response) => {
    if (!same(request.headers.authorization ?? "", `Bearer ${key}`)) return void response.writeHead(401).end();
    storeMail(request, folder).then(
      (id) => response.setHeader("Content-Type", "application/json").end(JSON.stringify({ id })),
      () => response.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://:${key}@127.0.0.1:${(server.address() as AddressInfo).port}/emails`,
    path: base,
    answer(response, path) {
      if (!/^\/_mail(\/|$)/.test(path)) return false;
      const [, start = "", id] = /^(\/_mail\/[\w-]+)(?:\/([\w-]+(?:\.html)?))?\/?$/.exec(path) ?? [];
      const page = same(start, base) ? pageOf(folder, base, id) : Promise.resolve(undefined);
      page.then(
        (html) => send(response, html),
        () => send(response, undefined),
      );
      return true;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

let turn = Promise.resolve();

async function storeMail(request: IncomingMessage, folder: string): Promise<string> {
  const body = await wholeBody(request, maxBytes, maxReceiveMs);
  const at = new Date().toISOString();
  const mail: CapturedMail = { at, ...JSON.parse(body.toString()) };
  const id = `${at.replace(/\D/g, "")}-${randomUUID()}`;
  // Written atomically for concurrent readers.
  await writeFile(join(folder, `${id}.new`), JSON.stringify(mail), { mode: 0o600 });
  await rename(join(folder, `${id}.new`), join(folder, `${id}.json`));
  turn = turn.then(() => trim(folder)).catch(() => undefined);
  return id;
}

async function trim(folder: string): Promise<void> {
  for (const name of (await namesIn(folder)).slice(maxStored)) await rm(join(folder, name), { force: true });
}

/** Newest first. */
const namesIn = async (folder: string) =>
  (await readdir(folder))
    .filter((name) => name.endsWith(".json"))
    .sort()
    .reverse();

/** Captured mails, newest first. */
export async function capturedMails(folder: string, limit = maxListed): Promise<(CapturedMail & { id: string })[]> {
  const names = (await namesIn(folder).catch(() => [])).slice(0, limit);
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8").catch(() => "null")));
  return texts.flatMap((text, at) => {
    const mail = JSON.parse(text) as CapturedMail | null;
    return mail ? [{ ...mail, id: names[at]?.replace(".json", "") ?? "" }] : [];
  });
}

async function pageOf(folder: string, base: string, name: string | undefined): Promise<string | undefined> {
  if (name === undefined) return listPage(base, await capturedMails(folder));
  const id = name.replace(/\.html$/, "");
  const mail: CapturedMail = JSON.parse(await readFile(join(folder, `${id}.json`), "utf8"));
  return name.endsWith(".html") ? (mail.html ?? "") : mailPage(base, id, mail);
}

const listPage = (base: string, mails: (CapturedMail & { id: string })[]) =>
  page(
    "Captured mail",
    mails.length === 0
      ? "<p>No mail yet. It comes when an organization has <code>mail_enabled</code>.</p>"
      : `<ul>${mails
          .map(
            ({ id, at, to, subject }) =>
              `<li><a href="${base}/${id}">${escaped(subject)}</a><br><small>${escaped(at)} · ${escaped(to.join(", "))}</small></li>`,
          )
          .join("")}</ul>`,
  );

const mailPage = (base: string, id: string, { at, from, to, subject, text, headers = {} }: CapturedMail) =>
  page(
    subject,
    `<p><a href="${base}">All mail</a></p><h1>${escaped(subject)}</h1>
<table>${Object.entries({ At: at, From: from, To: to.join(", "), ...headers })
      .map(([name, value]) => `<tr><th>${escaped(name)}</th><td>${escaped(value)}</td></tr>`)
      .join("")}</table>
<iframe src="${base}/${id}.html" sandbox="allow-popups allow-popups-to-escape-sandbox" title="HTML"></iframe>
<pre>${escaped(text ?? "")}</pre>`,
  );

const style = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:720px;margin:24px auto;padding:0 12px}
li{margin:0 0 12px}th{text-align:left;vertical-align:top;padding-right:12px;white-space:nowrap}td{overflow-wrap:anywhere}
small,th{opacity:.7;font-weight:400}iframe{width:100%;height:560px;border:1px solid #8884;margin:16px 0}pre{white-space:pre-wrap;overflow-wrap:anywhere}`;

const page = (title: string, body: string) =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escaped(title)}</title><style>${style}</style></head><body>${body}</body></html>`;

const escaped = (text: string) => String(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

function send(response: ServerResponse, html: string | undefined): void {
  response
    .writeHead(html === undefined ? 404 : 200, {
      "Content-Type": "text/html; charset=utf-8",
      // The content of a mail can run no scripts and access nothing of this site.
      "Content-Security-Policy":
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' https:; frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'",
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
    })
    .end(
      html ??
        "<!doctype html><title>Not found</title><p>There is nothing here. The address of the mails is printed by <code>npm start</code>.</p>",
    );
}
