import { open, rename, stat } from "node:fs/promises";

const maxFileBytes = 1024 * 1024;

export interface Mail {
  to: string;
  subject: string;
  text?: string | undefined;
}

/**
 * Replaces a mail server: appends each mail as a line of JSON to a file readable by its owner only. Links lead to the
 * page that requires a click before it uses them.
 */
export function mailFile(path: string, siteUrl: string): { send(mail: Mail): Promise<void> } {
  let last: Promise<void> = Promise.resolve();
  return {
    send(mail) {
      const text = mail.text?.replace(/https?:\S+\/auth\/v1\/verify\?\S+/g, (link) => linkToPage(link, siteUrl));
      last = last.catch(() => undefined).then(() => append(path, { ...mail, text }));
      return last;
    },
  };
}

function linkToPage(link: string, siteUrl: string): string {
  const { searchParams } = new URL(link);
  const page = new URL("/auth/confirm", siteUrl);
  page.searchParams.set("token_hash", searchParams.get("token") ?? "");
  page.searchParams.set("type", searchParams.get("type") ?? "");
  return page.href;
}

async function append(path: string, { to, subject, text }: Mail): Promise<void> {
  const { size } = await stat(path).catch(() => ({ size: 0 }));
  if (size > maxFileBytes) await rename(path, `${path}.old`);
  const file = await open(path, "a", 0o600);
  try {
    await file.chmod(0o600);
    await file.appendFile(`${JSON.stringify({ at: new Date().toISOString(), to, subject, text })}\n`);
  } finally {
    await file.close();
  }
}
