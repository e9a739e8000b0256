import type { IncomingMessage } from "node:http";

/** The body in memory, or its beginning if it is larger than the limit. */
export interface BufferedBody {
  chunks: Buffer[];
  length: number;
  isWhole: boolean;
}

/**
 * Reads until the body ends or `maxBytes` are read. Returns "late" after a timeout for the whole body, or for each
 * chunk of a body larger than `maxBytes`.
 */
export function bufferBody(
  incoming: IncomingMessage,
  maxBytes: number,
  timeMs: number,
): Promise<BufferedBody | "late"> {
  const declared = Number(incoming.headers["content-length"] ?? Number.NaN);
  const isLarge = declared > maxBytes || incoming.headers["transfer-encoding"] !== undefined;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const finish = (outcome: BufferedBody | "late") => {
      clearTimeout(timer);
      incoming.pause();
      incoming.off("data", take).off("end", end).off("error", fail).off("close", leave);
      resolve(outcome);
    };
    const late = () => finish("late");
    let timer = setTimeout(late, timeMs);
    const end = () => finish({ chunks, length, isWhole: true });
    const take = (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length > maxBytes) finish({ chunks, length, isWhole: false });
      else if (isLarge) {
        clearTimeout(timer);
        timer = setTimeout(late, timeMs);
      }
    };
    const fail = (error: Error) => {
      clearTimeout(timer);
      reject(error);
    };
    const leave = () => fail(new Error("the client left"));
    incoming.on("data", take).on("end", end).on("error", fail).on("close", leave);
  });
}

/** Maximum nesting of a data API body, whose parser is recursive. */
export const maxNesting = 64;

/** Whether brackets outside of strings exceed the maximum nesting. */
export function isNestedTooDeep(chunks: Buffer[]): boolean {
  let [depth, isText, isEscaped] = [0, false, false];
  for (const chunk of chunks) {
    for (const byte of chunk) {
      if (isText) {
        if (isEscaped) isEscaped = false;
        else if (byte === 0x5c) isEscaped = true;
        else if (byte === 0x22) isText = false;
      } else if (byte === 0x22) isText = true;
      else if (byte === 0x5b || byte === 0x7b) {
        if (++depth > maxNesting) return true;
      } else if (byte === 0x5d || byte === 0x7d) depth--;
    }
  }
  return false;
}
