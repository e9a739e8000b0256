import { type FileEntry, Reader, ZipReader } from "@zip.js/zip.js/lib/zip-core-native.js";
import { ApiError, invalid } from "../../http/api-error.ts";

/** Yields the inflated content of a file in the zip; undefined if there is none with this name. */
export type Zip = (name: string) => AsyncGenerator<Uint8Array> | undefined;

// Strict: an archive that another program could read differently is damaged. Names are only compared, never a path.
const options = {
  strictness: "strict",
  filenameValidation: "tolerant",
  checkSignature: true,
  useWebWorkers: false,
} as const;

/** Files and folders in a zip: each takes memory, and no other request runs while they are read. */
const maxFiles = 20_000;

/** Reads the directory. An invalid file, or one above `maxBytes` inflated, throws when it is read. */
export async function openZip(bytes: HeldBytes, maxBytes: number): Promise<Zip> {
  const entries = new Map<string, FileEntry>();
  try {
    let count = 0;
    for await (const entry of new ZipReader(bytes, options).getEntriesGenerator()) {
      if (++count > maxFiles) throw new Error(`it has more than ${maxFiles.toLocaleString("en")} files`);
      if (!entry.directory) entries.set(entry.filename, entry);
    }
  } catch (error) {
    throw damaged(error);
  }
  return (name) => {
    const entry = entries.get(name);
    return entry && contentOf(entry, maxBytes);
  };
}

async function* contentOf(entry: FileEntry, maxBytes: number): AsyncGenerator<Uint8Array> {
  if (entry.uncompressedSize > maxBytes)
    throw new ApiError("PAYLOAD_TOO_LARGE", `${entry.filename} is larger than ${maxBytes >> 20} MiB when unzipped.`);
  let length = 0;
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>({
    transform(part, controller) {
      length += part.length;
      // Do not trust the size in the directory.
      if (length > entry.uncompressedSize) throw new Error("more than its size");
      controller.enqueue(part);
    },
  });
  const inflated = entry.getData(writable, options);
  // Where it fails before the first byte, nothing else ends the stream.
  inflated.catch((error) => writable.abort(error).catch(() => {}));
  try {
    yield* readable;
    await inflated;
  } catch (error) {
    throw damaged(error);
  }
}

const damaged = (error: unknown) =>
  error instanceof ApiError ? error : invalid("body", `cannot be read: ${(error as Error).message}`);

const blockSize = 1024 * 1024;

/** A complete body. Stores chunks in larger blocks, since chunks may be one byte each. */
export class HeldBytes extends Reader<void> {
  override size = 0;
  private readonly blocks: Uint8Array[] = [];

  add(part: Uint8Array) {
    for (let rest = part; rest.length > 0; ) {
      const used = this.size % blockSize;
      if (used === 0) this.blocks.push(new Uint8Array(blockSize));
      const chunk = rest.subarray(0, blockSize - used);
      this.blocks.at(-1)?.set(chunk, used);
      this.size += chunk.length;
      rest = rest.subarray(chunk.length);
    }
  }

  override async readUint8Array(start: number, length: number): Promise<Uint8Array> {
    const end = Math.min(start + length, this.size);
    const read = new Uint8Array(Math.max(0, end - start));
    for (let at = start; at < end; at = (Math.floor(at / blockSize) + 1) * blockSize) {
      const block = Math.floor(at / blockSize);
      const last = Math.min(blockSize, end - block * blockSize);
      read.set(this.blocks[block]?.subarray(at % blockSize, last) ?? [], at - start);
    }
    return read;
  }
}
