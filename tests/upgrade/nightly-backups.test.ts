import { readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { makeTemporaryFolder } from "../../local/folders/temporary-folder.ts";
import { backupOfTheDay, startNightlyBackups } from "../../local/operator/nightly-backups.ts";
import { backupSettings, startSettings } from "../../local/start-settings.ts";
import { ownStack } from "../own-stack.ts";

const own = await ownStack();
const at = (text: string) => Date.parse(`${text}Z`);

test("one backup a day, after three o'clock, and the oldest but BACKUP_KEEP are deleted when it is complete", async () => {
  const folder = await makeTemporaryFolder("backups");
  const settings = { dataDir: own.folder, folder, keep: 2 };
  for (const day of ["2026-11-23", "2026-11-24", "2026-11-25"])
    await writeFile(join(folder, `feedback-${day}.tar.gz`), "");
  await writeFile(join(folder, "by-hand.tar.gz"), "");
  expect(await backupOfTheDay(settings, at("2026-11-26T02:59"))).toBeNull();
  expect(await readdir(folder)).toHaveLength(4);
  await expect(backupOfTheDay({ ...settings, dataDir: folder }, at("2026-11-26T03:00"))).rejects.toThrow("DATA_DIR");
  expect(await readdir(folder)).toHaveLength(4);
  const path = join(folder, "feedback-2026-11-26.tar.gz");
  expect(await backupOfTheDay(settings, at("2026-11-26T03:00"))).toBe(path);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await readdir(folder)).sort()).toEqual([
    "by-hand.tar.gz",
    "feedback-2026-11-24.tar.gz",
    "feedback-2026-11-25.tar.gz",
    "feedback-2026-11-26.tar.gz",
  ]);
  await writeFile(join(folder, "feedback-2026-11-26.tar.gz.0123abcd.new"), "of a process that was killed");
  expect(await backupOfTheDay(settings, at("2026-11-26T23:59"))).toBeNull();
  // A clock that is wrong, or a year without a start, deletes no more than that.
  await backupOfTheDay(settings, at("2027-11-26T03:00"));
  expect((await readdir(folder)).sort()).toEqual([
    "by-hand.tar.gz",
    "feedback-2026-11-25.tar.gz",
    "feedback-2026-11-26.tar.gz",
    "feedback-2027-11-26.tar.gz",
  ]);
  await rm(folder, { recursive: true });
});

test("a backup that fails is an error", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: at("2026-11-26T03:00") });
  const said = await new Promise((resolve) => {
    const stop = startNightlyBackups(
      { dataDir: own.folder, folder: join(own.folder, "secrets.json"), keep: 2 },
      (...line) => {
        stop();
        resolve(line);
      },
    );
  });
  vi.useRealTimers();
  expect(said).toEqual([expect.stringMatching(/^The nightly backup failed, .*EEXIST/), "error"]);
});

function withVariables(variables: Record<string, string>, read: () => unknown) {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  try {
    return read();
  } finally {
    vi.unstubAllEnvs();
  }
}
const backups = () => backupSettings("/data/feedback");

test.each([
  ["no folder: no backups", {}, undefined],
  ["a folder", { BACKUP_DIR: "/backups" }, { dataDir: "/data/feedback", folder: "/backups", keep: 14 }],
  ["a number", { BACKUP_DIR: "/data/feedback-2", BACKUP_KEEP: "7" }, { folder: "/data/feedback-2", keep: 7 }],
])("settings of backups: %s", (_, variables, expected) => {
  const settings = withVariables(variables, backups);
  if (expected) expect(settings).toMatchObject(expected);
  else expect(settings).toBeUndefined();
});

test.each([
  [{ BACKUP_DIR: "/backups", BACKUP_KEEP: "0" }, 'BACKUP_KEEP is "0": set it to a number of backups from 1 to 9999'],
  [{ BACKUP_DIR: "/data/feedback/b" }, "BACKUP_DIR is in the data folder /data/feedback: set it to a folder elsewhere"],
])("settings of backups: %j is refused", (variables, sentence) => {
  expect(() => withVariables(variables, backups)).toThrow(sentence);
});

test.each([
  ["", "127.0.0.1"],
  ["0.0.0.0", "0.0.0.0"],
  ["::", "::"],
])("HOST=%s listens at %s", (HOST, host) => {
  expect(withVariables({ HOST }, startSettings)).toMatchObject({ host });
});

test("HOST is refused if the functions could not reach the gateway", () => {
  const sentence = 'HOST is "192.0.2.1": set it to 127.0.0.1, or to 0.0.0.0 or :: for all addresses of this machine';
  expect(() => withVariables({ HOST: "192.0.2.1" }, startSettings)).toThrow(sentence);
});
