import { execFile } from "node:child_process";
import { mkdtemp, open, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { backup } from "../../local/operator/backup.ts";
import { mailWorld } from "../mail/world.ts";
import { type Answer, type OwnStack, type Person, startOwnStack } from "../own-stack.ts";
import { until } from "../until.ts";
import { expectClear, expectConsistent, expectNoLeak, expectUnavailable, recovered, startStorm } from "./storm.ts";

const run = promisify(execFile);

// Raises the error of a full disk (SQLSTATE 53100), on any machine.
test("a write on a full disk returns 503, and reads continue", async () => {
  const own = await startOwnStack();
  try {
    await own.sql.unsafe(`
      create function private.test_full() returns trigger language plpgsql as
        $$ begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$;
      create trigger test_full before insert on public.comments for each row execute function private.test_full()`);
    const person = await own.person();
    const path = `/api/submissions/${await own.submission(person)}/comments`;
    const comment = () => own.call("POST", path, { token: person.token, body: { body: "No room" } });
    expectUnavailable(await comment());
    expect((await own.call("GET", path)).status).toBe(200);
    await own.sql.unsafe("drop trigger test_full on public.comments; drop function private.test_full()");
    expect((await comment()).status).toBe(201);
    await expectConsistent(own);
  } finally {
    await own.remove();
  }
});

const mayMount = process.platform === "linux" && process.getuid?.() === 0;

// A disk that is really full: a small file system, which only root may mount. The test above covers other
// machines.
test.runIf(mayMount)(
  "a disk that fills up under load: 503, no acknowledged write is lost, and recovery when space is free",
  async () => {
    const disk = await mkdtemp(join(tmpdir(), "feedback-disk-"));
    await run("mount", ["-t", "tmpfs", "-o", "size=220m", "tmpfs", disk]);
    let own: OwnStack | undefined;
    try {
      const warnings: string[] = [];
      own = await startOwnStack({
        dataDir: join(disk, "data"),
        postgresSettings: { max_wal_size: "64MB" },
        parts: ["mail-dispatch"],
        onWarning: (message) => warnings.push(message),
      });
      const key = await own.key(["organization:write", "submissions:write", "submissions:moderate", "members:write"]);
      const world = mailWorld(own);
      await world.enable();
      const [reader] = (await world.confirmed()) as [Person];
      await world.changeStatus(await world.submit(reader), "planned");
      await world.drained();
      const filler = join(disk, "filler");
      const storm = await startStorm(own, 8);
      await sleep(300);
      await fill(filler);
      const sendImport = () => sendRows(own as OwnStack, key);
      await until(() => warnings.some((message) => / is full /.test(message)));
      expectUnavailable(await sendImport());
      await expect(backup(join(disk, "data"), join(disk, "feedback.tar.gz"))).rejects.toThrow(
        /was not written|starting/,
      );
      expect((await readdir(disk)).sort()).toEqual(["data", "filler"]);
      await rm(filler);
      await recovered(own);
      await until(() => warnings.some((message) => / has room again /.test(message)));
      const shots = await storm.stop();
      await world.changeStatus(await world.submit(reader), "planned");
      await world.drained();
      expect((await world.queued(reader)).map(({ status }) => status)).toEqual(["sent", "sent"]);
      await backup(join(disk, "data"), join(disk, "feedback.tar.gz"));
      expect(warnings.filter((message) => /^the disk/.test(message)).length).toBeLessThanOrEqual(3);
      expectClear(shots);
      expect(shots.some(({ answer }) => answer?.status === 503)).toBe(true);
      await expectConsistent(own, shots);
      // An import writes no events.
      expect((await sendImport()).status).toBe(202);
      await until(async () => (await importedOf(own as OwnStack)) === 3);
      await expectNoLeak(own);
    } finally {
      await own?.remove();
      await run("umount", ["-l", disk]);
      await rm(disk, { recursive: true, force: true });
    }
  },
);

const importedOf = async ({ sql }: OwnStack) =>
  (await sql`select from public.submissions where title like 'Imported on a full disk %'`).length;

function sendRows(own: OwnStack, token: string): Promise<Answer> {
  const rows = [1, 2, 3].map((n) => ({
    id: `full-${n}`,
    title: `Imported on a full disk ${n}`,
    description: "A description that is long enough.",
  }));
  const body = rows.map((row) => JSON.stringify(row)).join("\n");
  return own.call("POST", "/api/admin/import", { token, body, headers: { "content-type": "application/x-ndjson" } });
}

/** Until there is no space left. */
async function fill(path: string): Promise<void> {
  const file = await open(path, "w");
  try {
    for (const size of [1024 * 1024, 4096]) {
      const block = Buffer.alloc(size, 1);
      for (;;) await file.write(block);
    }
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
  } finally {
    await file.close();
  }
}
