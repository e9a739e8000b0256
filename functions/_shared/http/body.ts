import { ApiError, invalid } from "./api-error.ts";
import { parseForm } from "./form.ts";

export type Bounds = {
  /** In bytes. */
  maxBytes: number;
  /** Error message for a larger body. */
  tooLarge: string;
  /** 10 seconds for the whole body ("total"), or for each chunk of a large file ("idle"). */
  timeout: "total" | "idle";
};

const smallBody: Bounds = { maxBytes: 1024 * 1024, tooLarge: "The body is larger than 1 MiB.", timeout: "total" };
const timeoutMs = 10_000;
/** Limit for a multipart form, which takes a hundred times as long to parse as a URL-encoded one. */
const maxPartsBytes = 8 * 1024;

/** Reads a JSON body of at most 1 MiB; an empty body is an empty object. */
export async function readJson(request: Request): Promise<unknown> {
  const chunks = await readWhole(request);
  if (chunks.length === 0) return {};
  if (!/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(request.headers.get("Content-Type") ?? "")) {
    throw new ApiError(
      "UNSUPPORTED_MEDIA_TYPE",
      "The media type is not supported. Send JSON with Content-Type: application/json.",
    );
  }
  try {
    return JSON.parse(textOf(chunks));
  } catch {
    throw invalid("body", "is not valid JSON in UTF-8");
  }
}

/** The fields of a form of at most 1 MiB. */
export async function readForm(request: Request, takesParts = false): Promise<URLSearchParams> {
  const chunks = await readWhole(request);
  if (chunks.length === 0) return new URLSearchParams();
  if (takesParts && /^multipart\/form-data\s*;/i.test(request.headers.get("Content-Type") ?? ""))
    return readParts(request, chunks);
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(request.headers.get("Content-Type") ?? "")) {
    throw new ApiError("UNSUPPORTED_MEDIA_TYPE", "Send a form with Content-Type: application/x-www-form-urlencoded.");
  }
  return parseForm(formText(chunks));
}

function formText(chunks: readonly Uint8Array[]): string {
  try {
    return textOf(chunks);
  } catch {
    throw invalid("body", "is not valid UTF-8");
  }
}

async function readParts(request: Request, chunks: Uint8Array[]): Promise<URLSearchParams> {
  if (chunks.reduce((sum, { length }) => sum + length, 0) > maxPartsBytes)
    throw new ApiError("PAYLOAD_TOO_LARGE", "The form is larger than 8 KiB.");
  const headers = { "Content-Type": request.headers.get("Content-Type") ?? "" };
  try {
    const parts = await new Response(new Blob(chunks as BlobPart[]), { headers }).formData();
    return new URLSearchParams([...parts].filter((part): part is [string, string] => typeof part[1] === "string"));
  } catch {
    throw invalid("body", "is not valid form data");
  }
}

/** The raw body of at most 1 MiB, to verify its signature. */
export const readText = async (request: Request): Promise<string> => formText(await readWhole(request));

async function readWhole(request: Request): Promise<Uint8Array[]> {
  const problem = problemOfLength(request, smallBody);
  if (problem) throw problem;
  const chunks: Uint8Array[] = [];
  for await (const chunk of bodyChunks(request, smallBody)) if (chunk.length > 0) chunks.push(chunk);
  return chunks;
}

function textOf(chunks: readonly Uint8Array[]): string {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("") + decoder.decode();
}

/** Checks the Content-Length header. */
export function problemOfLength(request: Request, { maxBytes, tooLarge }: Bounds): ApiError | undefined {
  if (Number(request.headers.get("Content-Length")) > maxBytes) return new ApiError("PAYLOAD_TOO_LARGE", tooLarge);
}

/** Yields the body as it arrives; throws if it is too large, too slow or incomplete. */
export async function* bodyChunks(
  request: Request,
  { maxBytes, tooLarge, timeout }: Bounds,
): AsyncGenerator<Uint8Array> {
  const reader = request.body?.getReader();
  if (!reader) return;
  let late = false;
  const wait = () =>
    setTimeout(() => {
      late = true;
      reader.cancel().catch(() => {});
    }, timeoutMs);
  let timer = wait();
  let length = 0;
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      length += part.value.length;
      if (length > maxBytes) throw new ApiError("PAYLOAD_TOO_LARGE", tooLarge);
      if (timeout === "idle") clearTimeout(timer);
      yield part.value;
      if (timeout === "idle") timer = wait();
    }
  } catch (error) {
    throw error instanceof ApiError ? error : invalid("body", "did not arrive completely");
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => {});
  }
  if (late)
    throw invalid("body", timeout === "total" ? "did not arrive within 10 seconds" : "paused for more than 10 seconds");
}
