import { ApiError, invalid } from "./api-error.ts";
import { type Bounds, bodyChunks, problemOfLength } from "./body.ts";

/** A form with one file, which comes after its fields. */
export type Upload = {
  fields: URLSearchParams;
  /** Undefined if no file was chosen. Its content is streamed from the request and can be read once. */
  file: { name: string; bytes: AsyncGenerator<Uint8Array> } | undefined;
};

const maxHeaderBytes = 8 * 1024;
const maxFieldBytes = 16 * 1024;
const maxFields = 50;
const maxFieldsMs = 30_000;
/** Limit for everything except the file. */
const overhead = 128 * 1024;

/**
 * Reads the fields of a multipart form up to its file; the file is not held in memory. The bounds are the file's.
 * Fields after the file are ignored.
 */
export async function readUpload(request: Request, bounds: Bounds): Promise<Upload> {
  const form = { ...bounds, maxBytes: bounds.maxBytes + overhead };
  const problem = problemOfLength(request, form);
  if (problem) throw problem;
  const boundary = /^multipart\/form-data\s*;.*\bboundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(
    request.headers.get("Content-Type") ?? "",
  );
  if (!boundary)
    throw new ApiError("UNSUPPORTED_MEDIA_TYPE", "Send a form and its file with Content-Type: multipart/form-data.");
  const parts = new Parts(bodyChunks(request, form), boundary[1] ?? boundary[2] ?? "");
  parts.endsAt = performance.now() + maxFieldsMs;
  const fields = new URLSearchParams();
  for (let count = 0; await parts.next(); count++) {
    if (count >= maxFields) throw new ApiError("PAYLOAD_TOO_LARGE", "The form has more than 50 fields.");
    const { name, file } = dispositionOf(await textOf(parts.header(), maxHeaderBytes));
    if (file === undefined) {
      fields.append(name, await textOf(parts.body(), maxFieldBytes));
      continue;
    }
    parts.endsAt = Number.POSITIVE_INFINITY;
    return { fields, file: file ? { name: file, bytes: limited(parts.body(), bounds) } : undefined };
  }
  return { fields, file: undefined };
}

const maxDiscardMs = 30_000;

/** Reads the rest of a body: a browser that is still sending would not read the answer. Stops after a limited time. */
export async function discard(bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const endsAt = performance.now() + maxDiscardMs;
  for await (const _ of bytes) if (performance.now() > endsAt) return;
}

async function* limited(bytes: AsyncGenerator<Uint8Array>, { maxBytes, tooLarge }: Bounds): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const part of bytes) {
    length += part.length;
    if (length > maxBytes) throw new ApiError("PAYLOAD_TOO_LARGE", tooLarge);
    yield part;
  }
}

/** Browsers write quotes and line breaks of a name as %22, %0D and %0A. */
function dispositionOf(header: string): { name: string; file: string | undefined } {
  const [, value = ""] = /^content-disposition:\s*form-data\s*(;.*)$/im.exec(header) ?? [];
  const [, name] = /;\s*name="([^"]*)"/i.exec(value) ?? [];
  if (name === undefined) throw broken();
  return { name, file: /;\s*filename="([^"]*)"/i.exec(value)?.[1] };
}

async function textOf(parts: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let length = 0;
  try {
    for await (const part of parts) {
      length += part.length;
      if (length > maxBytes) throw new ApiError("PAYLOAD_TOO_LARGE", "A field of the form is too long.");
      text += decoder.decode(part, { stream: true });
    }
    return text + decoder.decode();
  } catch (error) {
    throw error instanceof ApiError ? error : invalid("body", "is not valid UTF-8");
  }
}

const broken = () => invalid("body", "is not a complete form; send it again");
const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Reads the parts of a multipart body in order; each must be read completely before the next. */
class Parts {
  #chunks: AsyncIterator<Uint8Array>;
  #delimiter: Uint8Array;
  // The first delimiter has no line break before it.
  #held = bytesOf("\r\n");
  #isFirst = true;
  /** Deadline of the current read, in milliseconds of performance.now(). */
  endsAt = Number.POSITIVE_INFINITY;

  constructor(chunks: AsyncIterator<Uint8Array>, boundary: string) {
    this.#chunks = chunks;
    this.#delimiter = bytesOf(`\r\n--${boundary}`);
  }

  /** Goes to the next part; false at the end. */
  async next(): Promise<boolean> {
    if (this.#isFirst) for await (const _ of this.body());
    this.#isFirst = false;
    while (this.#held.length < 2) await this.#read();
    const [first, second] = this.#held;
    this.#held = this.#held.subarray(2);
    if (first === 0x2d && second === 0x2d) return false;
    if (first !== 0x0d || second !== 0x0a) throw broken();
    return true;
  }

  header = () => this.#until(bytesOf("\r\n\r\n"));
  body = () => this.#until(this.#delimiter);

  async *#until(delimiter: Uint8Array): AsyncGenerator<Uint8Array> {
    for (;;) {
      const at = indexOf(this.#held, delimiter);
      const end = at < 0 ? Math.max(0, this.#held.length - delimiter.length + 1) : at;
      const part = this.#held.subarray(0, end);
      this.#held = this.#held.subarray(at < 0 ? end : at + delimiter.length);
      if (part.length > 0) yield part;
      if (at >= 0) return;
      await this.#read();
    }
  }

  async #read(): Promise<void> {
    const { done, value } = await this.#chunks.next();
    if (done) throw broken();
    if (performance.now() > this.endsAt) throw invalid("body", "has fields that did not arrive within 30 seconds");
    const joined = new Uint8Array(this.#held.length + value.length);
    joined.set(this.#held);
    joined.set(value, this.#held.length);
    this.#held = joined;
  }
}

function indexOf(bytes: Uint8Array, pattern: Uint8Array): number {
  const last = bytes.length - pattern.length;
  for (let at = bytes.indexOf(pattern[0] ?? 0); at >= 0 && at <= last; at = bytes.indexOf(pattern[0] ?? 0, at + 1)) {
    let same = 1;
    while (same < pattern.length && bytes[at + same] === pattern[same]) same++;
    if (same === pattern.length) return at;
  }
  return -1;
}
