import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { type Browser, firefox } from "playwright-core";

const run = promisify(execFile);

const path = [
  process.env.FIREFOX,
  "/usr/bin/firefox-esr",
  "/usr/bin/firefox",
  "/snap/bin/firefox",
  "/Applications/Firefox.app/Contents/MacOS/firefox",
].find((file) => file && existsSync(file));

/** Global setup: without its programs the run ends with one sentence. */
export default async function setup() {
  const hasPoppler = await run("pdftotext", ["-v"]).then(
    () => true,
    () => false,
  );
  if (path && hasPoppler) return;
  console.error(
    "These tests need Firefox and poppler: apt-get install firefox-esr poppler-utils (macOS: brew install --cask firefox; " +
      "brew install poppler). FIREFOX names a Firefox elsewhere.",
  );
  process.exit(1);
}

/** The installed Firefox, by WebDriver BiDi. */
export const launchFirefox = (firefoxUserPrefs: Record<string, boolean | number> = {}): Promise<Browser> =>
  firefox.launch({ channel: "moz-firefox", executablePath: path ?? "firefox", firefoxUserPrefs });

/** The texts of a PDF's pages. */
export async function textsOf(pdf: Buffer): Promise<string[]> {
  const reading = run("pdftotext", ["-", "-"], { maxBuffer: 2 ** 24 });
  reading.child.stdin?.end(pdf);
  return (await reading).stdout.split("\f").slice(0, -1);
}
