import bundled from "@sparticuz/chromium";
import { type Browser, chromium } from "playwright-core";

/** A real Chromium: the packaged one, or the one in CHROMIUM where that does not run. */
export async function launchBrowser(...more: string[]): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? (await bundled.executablePath()),
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", ...more],
  });
}
