import { open, rename, stat } from "node:fs/promises";

const largestFile = 1024 * 1024;

export interface Mail {
  to: string;
  subject: string;
  text?: string;
}

/** Takes the place of a mail server: a line of JSON for each mail, in a file that only its owner may read. */
export function mailFile(path: string): { send(mail: Mail): Promise<void> } {
  let last: Promise<void> = Promise.resolve();
  return {
    send(mail) {
      last = last.catch(() => undefined).then(() => append(path, mail));
      return last;
    },
  };
}

async function append(path: string, { to, subject, text }: Mail): Promise<void> {
  const { size } = await stat(path).catch(() => ({ size: 0 }));
  if (size > largestFile) await rename(path, `${path}.old`);
  const file = await open(path, "a", 0o600);
  try {
    await file.chmod(0o600);
    await file.appendFile(`${JSON.stringify({ at: new Date().toISOString(), to, subject, text })}\n`);
  } finally {
    await file.close();
  }
}
