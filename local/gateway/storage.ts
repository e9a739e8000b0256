import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { dirname, join } from "node:path";
import { exists } from "../folders/files.ts";
import { wholeBody } from "./body.ts";
import { unknownOfSupabase } from "./data.ts";
import { sendError } from "./errors.ts";

/** The part of Supabase Storage that the functions use. */
export interface FileStorage {
  /** Known to the functions only. */
  key: string;
  answer(incoming: IncomingMessage, response: ServerResponse, path: string): Promise<void>;
}

const maxBytes = 1024 * 1024;
const maxReceiveMs = 10_000;
const objectPath = /^\/storage\/v1\/object\/(?:authenticated\/)?([a-z]+)\/([\w-]{1,64}\/[\w-]{1,64}\.(\w{1,8}))$/;

/** Stores files below a folder. Requests without the key get a 404. */
export function openStorage(folder: string): FileStorage {
  const key = randomBytes(24).toString("base64url");
  const isHolder = ({ headers }: IncomingMessage) =>
    timingSafeEqual(digest(headers.authorization ?? ""), digest(`Bearer ${key}`));
  return {
    key,
    async answer(incoming, response, path) {
      if (!isHolder(incoming)) return sendError(response, unknownOfSupabase);
      const { method } = incoming;
      if (path === "/storage/v1/bucket" && method === "POST") {
        const { id } = JSON.parse((await bodyOf(incoming)).toString());
        if (!/^[a-z]{1,64}$/.test(id)) return sendJson(response, 400, { error: "Invalid bucket" });
        await mkdir(join(folder, id), { recursive: true, mode: 0o700 });
        return sendJson(response, 200, { name: id });
      }
      const [, bucket, name] = objectPath.exec(path) ?? [];
      if (!bucket || !name) return sendError(response, unknownOfSupabase);
      if (!(await exists(join(folder, bucket))))
        return sendJson(response, 400, { statusCode: "404", error: "Bucket not found" });
      const file = join(folder, bucket, name);
      if (method === "POST") {
        const body = await bodyOf(incoming);
        await mkdir(dirname(file), { recursive: true, mode: 0o700 });
        await writeFile(`${file}.new`, body, { mode: 0o600 });
        await rename(`${file}.new`, file);
        return sendJson(response, 200, { Key: `${bucket}/${name}` });
      }
      const found = await readFile(file).catch(() => null);
      if (found === null)
        return sendJson(response, 400, { statusCode: "404", error: "not_found", message: "Object not found" });
      if (method === "DELETE") {
        await rm(file, { force: true });
        return sendJson(response, 200, { message: "Successfully deleted" });
      }
      response.writeHead(200, {
        "Content-Type": "application/octet-stream",
        "Content-Length": found.length,
        "X-Content-Type-Options": "nosniff",
      });
      response.end(found);
    },
  };
}

const digest = (text: string) => createHash("sha256").update(text).digest();

const bodyOf = (incoming: IncomingMessage) => wholeBody(incoming, maxBytes, maxReceiveMs);

const sendJson = (response: ServerResponse, status: number, body: object) =>
  void response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
