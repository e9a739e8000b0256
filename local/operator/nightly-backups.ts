import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../processes/start-error.ts";
import { backup } from "./backup.ts";

export interface NightlyBackups {
  dataDir: string;
  folder: string;
  keepDays: number;
}

const hourUtc = 3;
const lookMs = 600_000;
const named = /^feedback-\d{4}-\d\d-\d\d\.tar\.gz$/;
const nameOf = (time: number) => `feedback-${new Date(time).toISOString().slice(0, 10)}.tar.gz`;

/**
 * Writes the backup of the day unless it exists or the night is not over, then deletes those older than `keepDays`.
 * Returns the path of a new file.
 */
export async function backupOfTheDay(
  { dataDir, folder, keepDays }: NightlyBackups,
  now = Date.now(),
): Promise<string | null> {
  if (new Date(now).getUTCHours() < hourUtc) return null;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const present = (await readdir(folder)).filter((name) => named.test(name));
  const path = join(folder, nameOf(now));
  if (present.includes(nameOf(now))) return null;
  await backup(dataDir, path);
  const oldest = nameOf(now - keepDays * 86_400_000);
  for (const name of present) if (name < oldest) await rm(join(folder, name), { force: true });
  return path;
}

/** A night that was missed, or whose backup failed, is made up for within minutes. */
export function startNightlyBackups(settings: NightlyBackups, say: (message: string) => void): () => void {
  let isWriting = false;
  const look = async () => {
    if (isWriting) return;
    isWriting = true;
    await backupOfTheDay(settings)
      .then((path) => path && say(`backup written to ${path}`))
      .catch((error: unknown) =>
        say(`The nightly backup failed, and is tried again in 10 minutes: ${messageOf(error)}`),
      )
      .finally(() => {
        isWriting = false;
      });
  };
  const timer = setInterval(look, lookMs);
  void look();
  return () => clearInterval(timer);
}
