import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** Data folders of the stacks that run in this process. */
export const ownFolders = new Set<string>();

const names = ["functions.log", "web.log", "webhook-dispatch.log", "mail-dispatch.log"];

/** What the functions of these stacks logged as an error since a time: the cause of a response 500. */
export async function errorsSince(at: number, folders: Iterable<string>): Promise<string[]> {
  const logs = await Promise.all(
    [...folders].flatMap((folder) =>
      names.map(async (name) => {
        const text = await readFile(join(folder, name), "utf8").catch(() => "");
        return text.split("\n").filter((line) => isErrorSince(line, at));
      }),
    ),
  );
  return logs.flat();
}

function isErrorSince(line: string, since: number): boolean {
  if (!line.includes('"error"')) return false;
  try {
    const { at, error } = JSON.parse(line) as { at?: string; error?: unknown };
    return error !== undefined && Date.parse(at ?? "") >= since;
  } catch {
    return false;
  }
}
