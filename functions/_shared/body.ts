import { ApiError, invalid } from "./api-error.ts";

type Bounds = {
  /** In bytes. */
  largest: number;
  /** What is said of one that is larger. */
  tooLarge: string;
  /** What has to come within ten seconds: all of it, or each piece, for a large file may take its time. */
  timed: "whole" | "piece";
};

const json: Bounds = { largest: 1024 * 1024, tooLarge: "The body is larger than 1 MiB.", timed: "whole" };
const timeoutMs = 10_000;

/** A JSON body of at most 1 MiB; none at all is an empty object. */
export async function readJson(request: Request): Promise<unknown> {
  const problem = problemOfLength(request, json);
  if (problem) throw problem;
  const pieces: Uint8Array[] = [];
  for await (const piece of piecesOf(request, json)) if (piece.length > 0) pieces.push(piece);
  if (pieces.length === 0) return {};
  if (!/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(request.headers.get("Content-Type") ?? "")) {
    throw new ApiError("UNSUPPORTED_MEDIA_TYPE", "Send JSON: Content-Type: application/json.");
  }
  try {
    return JSON.parse(textOf(pieces));
  } catch {
    throw invalid("body", "is not valid JSON in UTF-8");
  }
}

function textOf(pieces: readonly Uint8Array[]): string {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  return pieces.map((piece) => decoder.decode(piece, { stream: true })).join("") + decoder.decode();
}

/** What is wrong with the length that the body says it has. */
export function problemOfLength(request: Request, { largest, tooLarge }: Bounds): ApiError | undefined {
  if (Number(request.headers.get("Content-Length")) > largest)
    return new ApiError("PAYLOAD_TOO_LARGE", tooLarge);
}

/** The body as it comes in; throws where it is too large, stops coming, or breaks off. */
export async function* piecesOf(
  request: Request,
  { largest, tooLarge, timed }: Bounds,
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
      if (length > largest) throw new ApiError("PAYLOAD_TOO_LARGE", tooLarge);
      if (timed === "piece") clearTimeout(timer);
      yield part.value;
      if (timed === "piece") timer = wait();
    }
  } catch (error) {
    throw error instanceof ApiError ? error : invalid("body", "did not arrive whole");
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => {});
  }
  if (late)
    throw invalid(
      "body",
      timed === "whole" ? "did not arrive within 10 seconds" : "paused for more than 10 seconds",
    );
}
