import { existsSync } from "node:fs";
import { mkdtemp, readdir, rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import bundled from "@sparticuz/chromium";
import { type Browser, chromium } from "playwright-core";
import { withTemporaryFolder } from "../../local/folders/temporary-folder.ts";

/** A real Chromium: the packaged one, or the one in CHROMIUM where that does not run. */
export async function launchBrowser(...more: string[]): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? (await bundled.executablePath());
  const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", ...more];
  const launch = () => chromium.launch({ executablePath, args });
  // Of some thousand starts, one crashes.
  return launch().catch(launch);
}

/** Unpacks the packaged Chromium: test files that run side by side would find half of it. */
export async function unpackChromium(): Promise<void> {
  const shared = tmpdir();
  if (process.env.CHROMIUM || existsSync(join(shared, "chromium"))) return;
  // A rename needs the same file system.
  const near = () => mkdtemp(join(shared, "feedback-chromium-"));
  await withTemporaryFolder(async (folder) => {
    const { TMPDIR } = process.env;
    process.env.TMPDIR = folder;
    await bundled.executablePath();
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
    // The program is moved last, since whoever finds it expects the rest. Another suite may have been faster.
    const parts = (await readdir(folder)).sort(
      (one, other) => Number(one === "chromium") - Number(other === "chromium"),
    );
    for (const part of parts) await rename(join(folder, part), join(shared, part)).catch(() => undefined);
  }, near);
}
