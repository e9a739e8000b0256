import { readFile } from "node:fs/promises";
import { join } from "node:path";

const names = ["functions.log", "web.log", "webhook-dispatch.log", "mail-dispatch.log"];

/** Data folders of the stacks that run in this process. */
const folders = new Set<string>();
/** Errors of stacks that have stopped. */
const kept: string[] = [];

/** Registers a stack of a test file; the result is called before its folder is deleted. */
export function followErrors(folder: string): () => Promise<void> {
  folders.add(folder);
  return async () => {
    folders.delete(folder);
    kept.push(...(await errorsIn(folder)));
    kept.splice(0, kept.length - 100);
  };
}

/** Errors that the functions logged since a time, such as the cause of a response 500. */
export async function errorsSince(time: number, shared: string): Promise<string[]> {
  const running = await Promise.all([shared, ...folders].map(errorsIn));
  return [...kept, ...running.flat()].filter((line) => timeOf(line) >= time);
}

async function errorsIn(folder: string): Promise<string[]> {
  const logs = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8").catch(() => "")));
  return logs.flatMap((log) => log.split("\n").filter((line) => line.includes('"error":')));
}

const timeOf = (line: string) => Date.parse(/"at":"([^"]+)"/.exec(line)?.[1] ?? "");
