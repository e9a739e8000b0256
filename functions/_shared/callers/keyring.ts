import { Buffer } from "node:buffer";

/** Parses the keys of an environment variable by id. The first key signs and encrypts; all keys verify and decrypt. */
export function parseKeys(variable: string, text = ""): Map<string, Uint8Array> {
  return new Map(
    text
      .split(",")
      .filter(Boolean)
      .map((entry, index) => {
        const [, id = "", encoded = ""] = /^\s*([\w-]{1,32}):([A-Za-z0-9+/_-]{43})=?\s*$/.exec(entry) ?? [];
        const key = Buffer.from(encoded, "base64");
        if (key.length !== 32)
          throw new Error(
            `Entry ${index + 1} of ${variable} is not <id>:<32 bytes in base64>: set it, comma-separated (docs/deploy.md)`,
          );
        return [id, key];
      }),
  );
}
