import type { IncomingMessage } from "node:http";

/** A body that is held in memory: all of it, or its beginning where it is larger than that. */
export interface Held {
  chunks: Buffer[];
  length: number;
  isWhole: boolean;
}

/**
 * Reads until the body ends or `most` bytes are there, so that nobody upstream waits for it. "late" where it did not come in
 * time: all of it, or each piece of a body that is larger than `most`.
 */
export function holdBody(incoming: IncomingMessage, most: number, timeMs: number): Promise<Held | "late"> {
  const declared = Number(incoming.headers["content-length"] ?? Number.NaN);
  const isLarge = declared > most || incoming.headers["transfer-encoding"] !== undefined;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const finish = (outcome: Held | "late") => {
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
      if (length > most) finish({ chunks, length, isWhole: false });
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

/** Levels of a body of the data API, which reads JSON by functions that call themselves. */
export const deepestBody = 64;

/** Whether brackets outside of strings are nested deeper than that. */
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
        if (++depth > deepestBody) return true;
      } else if (byte === 0x5d || byte === 0x7d) depth--;
    }
  }
  return false;
}
