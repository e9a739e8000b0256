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

/** A small body; throws if it is larger or late. */
export async function wholeBody(incoming: IncomingMessage, maxBytes: number, timeMs: number): Promise<Buffer> {
  const body = await bufferBody(incoming, maxBytes, timeMs);
  if (body === "late" || !body.isWhole) throw new Error("the body is too large or late");
  return Buffer.concat(body.chunks);
}

const maxRestMs = 2_000;

/** Reads what still comes of an answered request for a limited time: a client that is sending may not read the answer. */
export function dropRest(incoming: IncomingMessage): void {
  if (incoming.complete) return;
  incoming.resume();
  const timer = setTimeout(() => incoming.destroy(), maxRestMs);
  incoming.once("close", () => clearTimeout(timer));
}
