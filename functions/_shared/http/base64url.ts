import { base64url } from "jose";

/** Encodes text as base64url of its UTF-8, without padding. */
export const encodeText: (text: string) => string = base64url.encode;

/** Decodes base64url to text; throws if it is not base64url of valid UTF-8. */
export const decodeText = (encoded: string): string =>
  new TextDecoder("utf-8", { fatal: true }).decode(base64url.decode(encoded));
