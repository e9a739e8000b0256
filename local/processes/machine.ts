import { statfs } from "node:fs/promises";

const checkMs = 10_000;
/** Less than one file of Postgres's log of changes: it cannot write. */
const fullBytes = 16 * 1024 ** 2;
const lowBytes = 512 * 1024 ** 2;
const jumpMs = 5_000;

export const freeBytesOf = (folder: string) => statfs(folder).then(({ bavail, bsize }) => bavail * bsize);
/** How far the clock is ahead of one that nobody sets. */
const offsetOfClock = () => Date.now() - performance.now();

/** Tells when the disk of the data folder fills up or has room again, and when the clock jumps. */
export function watchMachine(
  folder: string,
  onWarning: (message: string) => void,
  freeBytes = freeBytesOf,
): { stop(): void } {
  let disk = 0;
  let offset = offsetOfClock();
  const levelOf = (bytes: number) => (bytes < fullBytes ? 2 : bytes < lowBytes ? 1 : 0);
  const checkDisk = (free: number) => {
    // Better only with some more room, so that it does not alternate.
    const level = Math.max(levelOf(free), Math.min(disk, levelOf(free / 1.5)));
    const left = `${Math.round(free / 1024 ** 2)} MB left`;
    if (level > disk && level === 2)
      onWarning(
        `the disk of ${folder} is full (${left}): make room. Until then writes are answered with 503, and none that was acknowledged is lost`,
      );
    else if (level > disk) onWarning(`the disk of ${folder} is nearly full (${left}): make room before writes fail`);
    else if (level < disk) onWarning(`the disk of ${folder} has room again (${left})`);
    disk = level;
  };
  const check = async () => {
    const now = offsetOfClock();
    const jump = now - offset;
    offset = now;
    if (Math.abs(jump) > jumpMs) {
      const seconds = Math.round(Math.abs(jump) / 1000);
      onWarning(
        jump > 0
          ? `the clock went forward by ${seconds} s, or the machine slept: sessions that expired meanwhile are refreshed`
          : `the clock went back by ${seconds} s: repeated webhooks and mails are sent up to that much later`,
      );
    }
    await freeBytes(folder).then(checkDisk, () => undefined);
  };
  const timer = setInterval(check, checkMs);
  check();
  return { stop: () => clearInterval(timer) };
}
