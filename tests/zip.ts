import { deflateRawSync } from "node:zlib";
import { crc32 } from "../shared/crc32.ts";

/** Deliberate errors in a file of a zip. */
type Flaw = {
  sum?: number;
  size?: number;
  flags?: number;
  method?: number;
  offset?: number;
  localName?: string;
  /** Content to use instead of the deflated data. */
  packed?: Uint8Array;
};
export type ZipFile = [name: string, content: string | Uint8Array, flaw?: Flaw];

/** A zip as Go's archive/zip streams it: deflated, with checksums and sizes after the data and in the directory. */
export function zipOf(files: ZipFile[], end: { count?: number; comment?: string } = {}): Uint8Array {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  const write = (...buffers: Buffer[]) => {
    parts.push(...buffers);
    for (const { length } of buffers) at += length;
  };
  for (const [name, content, flaw = {}] of files) {
    const { flags = 8, method = 8 } = flaw;
    const bytes = Buffer.from(content);
    const packed = Buffer.from(flaw.packed ?? (method === 8 ? deflateRawSync(bytes) : bytes));
    const sums = numbers([4, flaw.sum ?? crc32(bytes)], [4, packed.length], [4, flaw.size ?? bytes.length]);
    const offset = flaw.offset ?? at;
    const shared = numbers([2, 20], [2, flags], [2, method], [4, 0]);
    const localName = Buffer.from(flaw.localName ?? name);
    write(
      numbers([4, 0x04034b50]),
      shared,
      flags & 8 ? Buffer.alloc(12) : sums,
      numbers([2, localName.length], [2, 0]),
      localName,
      packed,
      ...(flags & 8 ? [numbers([4, 0x08074b50]), sums] : []),
    );
    const named = Buffer.from(name);
    const tail = numbers([2, named.length], [2, 0], [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]);
    directory.push(numbers([4, 0x02014b50], [2, 20]), shared, sums, tail, named);
  }
  const start = at;
  for (const part of directory) write(part);
  const count = end.count ?? files.length;
  const comment = Buffer.from(end.comment ?? "");
  const ends = numbers([2, 0], [2, 0], [2, count], [2, count], [4, at - start], [4, start], [2, comment.length]);
  write(numbers([4, 0x06054b50]), ends, comment);
  return Buffer.concat(parts);
}

function numbers(...fields: [length: 2 | 4, value: number][]): Buffer {
  return Buffer.concat(
    fields.map(([length, value]) => {
      const field = Buffer.alloc(length);
      if (length === 2) field.writeUInt16LE(value);
      else field.writeUInt32LE(value);
      return field;
    }),
  );
}
