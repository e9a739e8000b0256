import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { isUuid } from "../../../shared/fields.ts";
import { type LogoType, logosBucket, logoTypes, maxLogoBytes, maxLogoPixels } from "../../../shared/logos.ts";
import { ApiError, invalid, notFound } from "../http/api-error.ts";
import type { Bounds } from "../http/body.ts";
import type { Execute } from "../http/endpoint.ts";
import { environment } from "../runtime/environment.ts";
import { logoOf, updateOrganization } from "../statements/organizations.ts";

export const logoFile: Bounds = {
  maxBytes: maxLogoBytes,
  tooLarge: "The logo is larger than 512 KiB. Send a smaller file.",
  timeout: "total",
};

/** A picture runs nothing, and pages of all origins may show it. */
export const pictureHeaders = {
  "X-Content-Type-Options": "nosniff",
  "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "cross-origin",
};

const maxStorageMs = 10_000;

export const hasStorage = () => environment.storageKey !== undefined;

/** The absolute URL of a logo; that of an uploaded one is stored as a path of the pages. */
export const absoluteLogo = (url: string | null): string | null =>
  url?.startsWith("/") ? environment.siteUrl + url : url;

/** Stores an image in Supabase Storage as the logo of an organization. The schedule deletes the previous file. */
export async function storeLogo(
  organizationId: string | undefined,
  bytes: AsyncIterable<Uint8Array>,
  execute: Execute,
): Promise<string> {
  // The statement raises an error unless the caller is an admin.
  const [[before]] = await execute([logoOf(organizationId)]);
  if (!before) throw notFound("organization");
  const file = await wholeOf(bytes);
  const type = typeOf(file);
  const size = type && sizeOf[type](Buffer.from(file.buffer, file.byteOffset, file.byteLength));
  if (!type || !size) throw invalid("file", "must be a PNG, JPEG, or WebP image");
  // A few bytes can name a size that fills the memory of each visitor.
  if (Math.max(...size) > maxLogoPixels)
    throw new ApiError(
      "PAYLOAD_TOO_LARGE",
      `The logo is wider or taller than ${maxLogoPixels.toLocaleString("en")} pixels. Send a smaller one.`,
    );
  const path = `/logos/${before.id}/${randomBytes(16).toString("hex")}.${type}`;
  await put(path, file, logoTypes[type]);
  try {
    const [[after]] = await execute([updateOrganization(before.id, { logo_url: path })]);
    if (!after) throw notFound("organization");
    return after.data;
  } catch (error) {
    await deleteLogo(path);
    throw error;
  }
}

/** Deletes the file of an uploaded logo; true if it no longer exists. */
export async function deleteLogo(path: string): Promise<boolean> {
  const response = await storage("DELETE", `object${path}`).catch(() => undefined);
  const answer = await response?.json().catch(() => undefined);
  // Storage answers 400 with the status in its body.
  return response !== undefined && (response.ok || answer?.statusCode === "404");
}

/** The image at a path of the pages. */
export async function readLogo(organization: string, name: string): Promise<Response | undefined> {
  const [, type] = /^[0-9a-f]{32}\.(png|jpg|webp)$/.exec(name) ?? [];
  if (!type || !isUuid(organization) || !hasStorage()) return undefined;
  const found = await storage("GET", `object/authenticated/${logosBucket.id}/${organization}/${name}`);
  if (!found.ok) {
    await found.body?.cancel();
    return undefined;
  }
  return new Response(found.body, {
    headers: {
      // The type detected at the upload, not the type from Storage.
      "Content-Type": logoTypes[type as LogoType],
      "Cache-Control": "public, max-age=31536000, immutable",
      ...pictureHeaders,
    },
  });
}

async function wholeOf(parts: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const file = new Uint8Array(maxLogoBytes);
  let length = 0;
  for await (const part of parts) {
    if (length + part.length > maxLogoBytes) throw new ApiError("PAYLOAD_TOO_LARGE", logoFile.tooLarge);
    file.set(part, length);
    length += part.length;
  }
  return file.subarray(0, length);
}

/** The constant first bytes of each type. */
const starts: Record<LogoType, readonly [at: number, bytes: string][]> = {
  png: [[0, "\x89PNG\r\n\x1a\n"]],
  jpg: [[0, "\xff\xd8\xff"]],
  webp: [
    [0, "RIFF"],
    [8, "WEBPVP8"],
  ],
};

function typeOf(file: Uint8Array): LogoType | undefined {
  const head = String.fromCharCode(...file.subarray(0, 16));
  return (Object.keys(starts) as LogoType[]).find((type) =>
    starts[type].every(([at, bytes]) => head.startsWith(bytes, at)),
  );
}

type Size = [width: number, height: number];

/** Width and height in the head of a file; undefined if it has none. */
const sizeOf: Record<LogoType, (file: Buffer) => Size | undefined> = {
  png: (file) =>
    file.length >= 24 && file.toString("latin1", 12, 16) === "IHDR"
      ? [file.readUInt32BE(16), file.readUInt32BE(20)]
      : undefined,
  // Segments: 0xff, marker, length. The frame headers (0xc0 to 0xcf but three) before the scan (0xda) have the size.
  jpg: (file) => {
    let size: Size | undefined;
    let at = 2;
    while (at + 9 <= file.length) {
      const marker = file[at] === 0xff ? (file[at + 1] ?? 0) : 0;
      if (marker === 0xda) break;
      // Browsers skip markers without a length, and other bytes: behind them our lengths could pass by a frame header.
      if (marker < 0xc0 || (marker >= 0xd0 && marker <= 0xd9)) return undefined;
      if (marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
        size = [
          Math.max(file.readUInt16BE(at + 7), size?.[0] ?? 0),
          Math.max(file.readUInt16BE(at + 5), size?.[1] ?? 0),
        ];
      // 0xff twice is a filler.
      at += marker === 0xff ? 1 : 2 + file.readUInt16BE(at + 2);
    }
    return size;
  },
  webp: (file) => {
    if (file.length < 30) return undefined;
    const format = file.toString("latin1", 12, 16);
    if (format === "VP8X") return [file.readUIntLE(24, 3) + 1, file.readUIntLE(27, 3) + 1];
    if (format === "VP8 ") return [file.readUInt16LE(26) & 0x3fff, file.readUInt16LE(28) & 0x3fff];
    if (format !== "VP8L") return undefined;
    const bits = file.readUInt32LE(21);
    return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
  },
};

async function put(path: string, file: Uint8Array<ArrayBuffer>, type: string): Promise<void> {
  const upload = () => storage("POST", `object${path}`, file, type);
  let response = await upload();
  // For the first logo, create the bucket.
  if (await isMissingBucket(response)) {
    const made = await storage("POST", "bucket", JSON.stringify(logosBucket), "application/json");
    await made.body?.cancel();
    response = await upload();
  }
  if (!response.ok) throw new Error(`Storage answered ${response.status}: ${(await response.text()).slice(0, 200)}`);
  await response.body?.cancel();
}

async function isMissingBucket(response: Response): Promise<boolean> {
  return (response.status === 400 || response.status === 404) && /bucket/i.test(await response.clone().text());
}

function storage(
  method: string,
  path: string,
  body?: string | Uint8Array<ArrayBuffer>,
  type?: string,
): Promise<Response> {
  const key = environment.storageKey;
  if (!key)
    throw new ApiError(
      "SERVICE_UNAVAILABLE",
      "This installation cannot store files. Set logo_url to an https URL, or ask the operator to set STORAGE_KEY.",
    );
  return fetch(`${environment.supabaseInternalUrl}/storage/v1/${path}`, {
    method,
    // The gateway of Supabase reads one of them, depending on the kind of key.
    headers: { apikey: key, Authorization: `Bearer ${key}`, ...(type && { "Content-Type": type }) },
    signal: AbortSignal.timeout(maxStorageMs),
    ...(body !== undefined && { body }),
  });
}
