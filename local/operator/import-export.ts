import { createWriteStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { z } from "zod";
import type { importAnswer } from "../../shared/imports.ts";
import { StartError } from "../processes/start-error.ts";

export type Imported = z.output<typeof importAnswer>["data"];

/** Where the API is, and a key of the organization. */
export type ApiAccess = { url: string; key: string };

const mediaTypes: Record<string, string> = {
  ".csv": "text/csv",
  ".json": "application/json",
  ".jsonl": "application/x-ndjson",
  ".ndjson": "application/x-ndjson",
  ".zip": "application/zip",
};

/** Sends a file to the API and waits for the end of its import. */
export async function importFile(
  api: ApiAccess,
  path: string,
  query: Record<string, string>,
  progress: (processed: number) => void,
): Promise<Imported> {
  const type = mediaTypes[extname(path).toLowerCase()];
  if (!type) throw new StartError(`${path}: the name has to end in one of ${Object.keys(mediaTypes).join(", ")}`);
  const sent = { method: "POST", body: await readFile(path), headers: { "Content-Type": type } };
  let shown = await importIn(await call(api, `import?${new URLSearchParams(query)}`, sent));
  while (shown.state === "receiving" || shown.state === "running") {
    progress(shown.processed);
    await sleep(500);
    shown = await importIn(await call(api, `imports/${shown.id}`));
  }
  return shown;
}

const importIn = async (response: Response) => ((await response.json()) as z.output<typeof importAnswer>).data;

/** Writes an export to a file, or to the standard output. */
export async function exportFile(
  api: ApiAccess,
  path: string | undefined,
  query: Record<string, string>,
): Promise<void> {
  const { body } = await call(api, `export?${new URLSearchParams(query)}`);
  const out = path === undefined ? process.stdout : createWriteStream(path);
  await pipeline(Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]), out, { end: path !== undefined });
}

async function call({ url, key }: ApiAccess, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...init.headers, Authorization: `Bearer ${key}` };
  const response = await fetch(`${url}/api/admin/${path}`, { ...init, headers }).catch((error) => {
    throw new StartError(`${url} does not respond: ${error.cause?.message ?? error.message}`);
  });
  if (response.ok) return response;
  const { error } = (await response.json().catch(() => ({}))) as { error?: Problem };
  const details = error?.details?.map(({ field, message }) => `\n--${field} ${message}`) ?? [];
  throw new StartError(`${error?.message ?? `the API answered ${response.status}`}${details.join("")}`);
}

type Problem = { message: string; details?: { field: string; message: string }[] };
