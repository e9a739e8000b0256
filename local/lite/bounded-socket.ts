import { connect, type Socket } from "node:net";

/** A connection to Postgres for postgres.js on which a result larger than `largest` bytes becomes an error, so that it is never held whole. */
export async function boundedSocket(host: string, port: number, largest: number): Promise<Socket> {
  const socket = connect(port, host);
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  const bounded = boundResults(largest);
  const on = socket.on.bind(socket) as (event: string, listener: (...given: never[]) => void) => Socket;
  return Object.assign(socket, {
    on(event: string, listener: (...given: never[]) => void) {
      if (event !== "data") return on(event, listener);
      const take = listener as (chunk: Buffer) => void;
      return on("data", (chunk: Buffer) => {
        const kept = bounded(chunk);
        if (kept.length > 0) take(kept);
      });
    },
  });
}

const headerLength = 5;
const [dataRow, readyForQuery] = [0x44, 0x5a];

/** Passes the messages of a server on, byte by byte as they are, until the rows of one result are too many bytes. */
export function boundResults(largest: number): (chunk: Buffer) => Buffer {
  let partOfHeader = Buffer.alloc(0);
  let left = 0;
  let isPassing = true;
  let isTooLarge = false;
  let bytes = 0;
  return (received) => {
    const chunk = partOfHeader.length > 0 ? Buffer.concat([partOfHeader, received]) : received;
    partOfHeader = Buffer.alloc(0);
    const kept: Buffer[] = [];
    let at = 0;
    while (at < chunk.length) {
      if (left === 0) {
        if (chunk.length - at < headerLength) {
          partOfHeader = Buffer.from(chunk.subarray(at));
          break;
        }
        const type = chunk[at];
        left = chunk.readInt32BE(at + 1) + 1;
        if (type === dataRow) bytes += left;
        if (bytes > largest && !isTooLarge) {
          isTooLarge = true;
          kept.push(tooLarge(largest));
        }
        isPassing = !isTooLarge || type === readyForQuery;
        if (type === readyForQuery) [bytes, isTooLarge] = [0, false];
      }
      const end = Math.min(chunk.length, at + left);
      if (isPassing) kept.push(chunk.subarray(at, end));
      left -= end - at;
      at = end;
    }
    return kept.length === 1 && kept[0] ? kept[0] : Buffer.concat(kept);
  };
}

/** Postgres's own form of an error. */
function tooLarge(largest: number): Buffer {
  const message = `The answer is larger than ${largest >> 20} MiB: ask for fewer rows or columns, or read page by page with limit and offset.`;
  const fields = Buffer.from(`SERROR\0VERROR\0C54000\0M${message}\0\0`);
  const header = Buffer.alloc(headerLength);
  header.write("E");
  header.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([header, fields]);
}
