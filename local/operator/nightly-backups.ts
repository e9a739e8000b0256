import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../processes/start-error.ts";
import { backup } from "./backup.ts";

export interface NightlyBackups {
  dataDir: string;
  folder: string;
  keep: number;
}

const hourUtc = 3;
const lookMs = 600_000;
const named = /^feedback-\d{4}-\d\d-\d\d\.tar\.gz$/;
/** Of a process that was killed while it wrote. */
const draft = /^feedback-\d{4}-\d\d-\d\d\.tar\.gz\.[0-9a-f]{8}\.new$/;
const nameOf = (time: number) => `feedback-${new Date(time).toISOString().slice(0, 10)}.tar.gz`;

/**
 * Writes the backup of the day unless it exists or the night is not over, then deletes the oldest but `keep`.
 * Returns the path of a new file.
 */
export async function backupOfTheDay(
  { dataDir, folder, keep }: NightlyBackups,
  now = Date.now(),
): Promise<string | null> {
  if (new Date(now).getUTCHours() < hourUtc) return null;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const names = await readdir(folder);
  for (const name of names) if (draft.test(name)) await rm(join(folder, name), { force: true });
  const present = names.filter((name) => named.test(name)).sort();
  const path = join(folder, nameOf(now));
  if (present.includes(nameOf(now))) return null;
  await backup(dataDir, path);
  // By their number: after a month without a backup, or on a clock that is wrong, all others would be too old.
  for (const name of present.slice(0, -keep)) await rm(join(folder, name), { force: true });
  return path;
}

/** A night that was missed, or whose backup failed, is made up for within minutes. */
export function startNightlyBackups(
  settings: NightlyBackups,
  say: (message: string, level: "info" | "error") => void,
): () => void {
  let isWriting = false;
  const look = async () => {
    if (isWriting) return;
    isWriting = true;
    await backupOfTheDay(settings)
      .then((path) => path && say(`backup written to ${path}`, "info"))
      .catch((error: unknown) =>
        say(`The nightly backup failed, and is tried again in 10 minutes: ${messageOf(error)}`, "error"),
      )
      .finally(() => {
        isWriting = false;
      });
  };
  const timer = setInterval(look, lookMs);
  void look();
  return () => clearInterval(timer);
}
