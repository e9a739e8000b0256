import { Buffer } from "node:buffer";
import { brotliDecompressSync, gzipSync } from "node:zlib";

type Bytes = Uint8Array<ArrayBuffer>;
export type Coding = "br" | "gzip" | "identity";
/** A text, or the brotli of one in base64, as the build makes it. */
export type Source = { text: string } | { brotli: string };

const minBytes = 1_024;

/** The codings that a text is sent in. */
export const codingsOf = (text: string): Coding[] => (text.length > minBytes ? ["gzip", "identity"] : ["identity"]);

/** A body that is sent more than once, made once in each coding. */
export class KeptBody {
  readonly codings: readonly Coding[];
  readonly #made: Partial<Record<Coding, Bytes>>;

  constructor(from: Source) {
    const isText = "text" in from;
    this.codings = isText ? codingsOf(from.text) : ["br", "gzip", "identity"];
    this.#made = isText
      ? { identity: new TextEncoder().encode(from.text) }
      : { br: new Uint8Array(Buffer.from(from.brotli, "base64")) };
  }

  in(coding: Coding): Bytes {
    this.#made[coding] ??= coding === "gzip" ? gzip(this.in("identity")) : unpacked(this.in("br"));
    return this.#made[coding];
  }
}

export const gzip = (content: Bytes | string, level?: number): Bytes => new Uint8Array(gzipSync(content, { level }));
const unpacked = (brotli: Bytes): Bytes => new Uint8Array(brotliDecompressSync(brotli));
