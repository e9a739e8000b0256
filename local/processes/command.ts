import { existsSync, realpathSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { messageOf, StartError } from "./start-error.ts";

/** Runs the command of a module if it was started as the program. The status is 1 after an error, or if it returns false. */
export async function runCommand(url: string, main: (words: string[]) => Promise<unknown>): Promise<void> {
  const [, program = ""] = process.argv;
  // The path may have a symbolic link in it, which the URL has not.
  if (!existsSync(program) || url !== pathToFileURL(realpathSync(program)).href) return;
  try {
    if ((await main(process.argv.slice(2))) === false) process.exitCode = 1;
  } catch (error) {
    console.error(error instanceof StartError ? error.message : messageOf(error));
    process.exitCode = 1;
  }
}
