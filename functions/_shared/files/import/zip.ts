import { pipeline, Readable } from "node:stream";
import { createInflateRaw } from "node:zlib";
import { crc32 } from "../../../../shared/crc32.ts";
import { ApiError, invalid } from "../../http/api-error.ts";

// The subset of the zip format that backups need: one disk, stored or deflated, no zip64. Sizes and checksums come from
// the central directory, because streaming writers omit them in the local headers.

/** A byte source with random access: a complete body or a file. */
export type Bytes = {
  size: number;
  read: (start: number, end: number) => Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
};

/** Yields the inflated content of a file in the zip; undefined if there is none with this name. */
export type Zip = (name: string) => AsyncGenerator<Uint8Array> | undefined;

type Entry = {
  name: string;
  flags: number;
  method: number;
  sum: number;
  packed: number;
  size: number;
  at: number;
};

const endSize = 22;
const maxCommentBytes = 65_535;
const maxDirectoryBytes = 16 * 1024 * 1024;
const isEncrypted = 0x2041;

/** Reads the central directory. An invalid file, or one above `maxBytes` inflated, throws when it is read. */
export async function openZip(bytes: Bytes, maxBytes: number): Promise<Zip> {
  const tail = await viewOf(bytes, Math.max(0, bytes.size - endSize - maxCommentBytes), bytes.size);
  const end = endOf(tail);
  if (end === undefined) throw invalid("body", "is an incomplete zip: its end is missing");
  const endAt = bytes.size - tail.byteLength + end;
  const count = tail.getUint16(end + 10, true);
  const size = tail.getUint32(end + 12, true);
  const start = tail.getUint32(end + 16, true);
  const hasLocator = end >= 20 && tail.getUint32(end - 20, true) === 0x07064b50;
  if (hasLocator || count === 0xffff || size === 0xffffffff || start === 0xffffffff) throw zip64();
  if (tail.getUint32(end + 4, true) !== 0 || tail.getUint16(end + 8, true) !== count)
    throw invalid("body", "is a part of a split zip: send one complete file");
  if (start + size !== endAt || size > maxDirectoryBytes) throw directoryDamaged();
  const entries = new Map<string, Entry>();
  for (const entry of entriesOf(await viewOf(bytes, start, endAt), count)) {
    if (entries.has(entry.name)) throw invalid("body", `contains two files named ${entry.name}`);
    entries.set(entry.name, entry);
  }
  return (name) => {
    const entry = entries.get(name);
    return entry && contentOf(bytes, entry, start, maxBytes);
  };
}

/** Position of the end record; its comment extends to the end of the file. */
function endOf(tail: DataView): number | undefined {
  for (let at = tail.byteLength - endSize; at >= 0; at--)
    if (
      tail.getUint32(at, true) === 0x06054b50 &&
      at + endSize + tail.getUint16(at + 20, true) === tail.byteLength
    )
      return at;
}

function* entriesOf(directory: DataView, count: number): Generator<Entry> {
  let at = 0;
  for (let n = 0; n < count; n++) {
    if (at + 46 > directory.byteLength || directory.getUint32(at, true) !== 0x02014b50)
      throw directoryDamaged();
    const next = at + 46 + directory.getUint16(at + 28, true);
    if (next > directory.byteLength) throw directoryDamaged();
    yield {
      name: textOf(directory, at + 46, next),
      flags: directory.getUint16(at + 8, true),
      method: directory.getUint16(at + 10, true),
      sum: directory.getUint32(at + 16, true),
      packed: directory.getUint32(at + 20, true),
      size: directory.getUint32(at + 24, true),
      at: directory.getUint32(at + 42, true),
    };
    at = next + directory.getUint16(at + 30, true) + directory.getUint16(at + 32, true);
  }
  if (at !== directory.byteLength) throw directoryDamaged();
}

async function* contentOf(
  bytes: Bytes,
  entry: Entry,
  directoryAt: number,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  const { name, flags, method, sum, packed, size, at } = entry;
  if (flags & isEncrypted) throw invalid("body", "is encrypted: send a zip without a password");
  if ([packed, size, at].includes(0xffffffff)) throw zip64();
  if (method !== 0 && method !== 8)
    throw invalid("body", "uses a compression other than deflate: create the zip again");
  const tooLarge = () =>
    new ApiError("PAYLOAD_TOO_LARGE", `${name} is larger than ${maxBytes >> 20} MiB when inflated.`);
  if (size > maxBytes) throw tooLarge();
  const header = await viewOf(bytes, at, Math.min(at + 30, directoryAt));
  if (header.byteLength < 30 || header.getUint32(0, true) !== 0x04034b50) throw damaged();
  const nameEnd = at + 30 + header.getUint16(26, true);
  const start = nameEnd + header.getUint16(28, true);
  if (start + packed > directoryAt) throw damaged();
  if (textOf(await viewOf(bytes, at + 30, nameEnd)) !== name) throw damaged();
  let length = 0;
  let found = 0;
  for await (const part of inflated(bytes.read(start, start + packed), method)) {
    length += part.length;
    // Do not trust the size in the directory.
    if (length > size) throw damaged();
    found = crc32(part, found);
    yield part;
  }
  if (length !== size || found !== sum) throw damaged();
}

async function* inflated(packed: ReturnType<Bytes["read"]>, method: number): AsyncGenerator<Uint8Array> {
  if (method === 0) return yield* packed;
  const inflate = createInflateRaw({ chunkSize: 65_536 });
  pipeline(Readable.from(packed), inflate, () => {
    // Reported where it is read.
  });
  try {
    yield* inflate;
  } catch (error) {
    if (error instanceof Error && "code" in error && String(error.code).startsWith("Z_")) throw damaged();
    throw error;
  } finally {
    inflate.destroy();
  }
}

async function viewOf(bytes: Bytes, start: number, end: number): Promise<DataView> {
  const whole = new Uint8Array(Math.max(0, end - start));
  let length = 0;
  for await (const part of bytes.read(start, end)) {
    whole.set(part, length);
    length += part.length;
  }
  return new DataView(whole.buffer, 0, length);
}

const textOf = (view: DataView, start = 0, end = view.byteLength) =>
  new TextDecoder().decode(new Uint8Array(view.buffer, view.byteOffset + start, end - start));

const directoryDamaged = () => invalid("body", "is a zip with a damaged directory: send it again");
const damaged = () => invalid("body", "is damaged");
const zip64 = () =>
  invalid("body", "is in zip64 format, which is not supported: create the zip again without the blobs");

const blockSize = 1024 * 1024;

/** Stores chunks in larger blocks, since chunks may be one byte each. */
export function heldBytes(): Bytes & { add: (part: Uint8Array) => void } {
  const blocks: Uint8Array[] = [];
  return {
    size: 0,
    add(part) {
      for (let rest = part; rest.length > 0; ) {
        const used = this.size % blockSize;
        if (used === 0) blocks.push(new Uint8Array(blockSize));
        const chunk = rest.subarray(0, blockSize - used);
        blocks.at(-1)?.set(chunk, used);
        this.size += chunk.length;
        rest = rest.subarray(chunk.length);
      }
    },
    *read(start, end) {
      for (let at = start; at < end; at = (Math.floor(at / blockSize) + 1) * blockSize) {
        const block = Math.floor(at / blockSize);
        const within = blocks[block]?.subarray(at % blockSize, Math.min(blockSize, end - block * blockSize));
        if (within) yield within;
      }
    },
  };
}
