import { connect, type Socket } from "node:net";

/**
 * A Postgres connection for postgres.js that turns a result above `maxBytes` into an error, so that it never fills the
 * memory.
 */
export async function boundedSocket(host: string, port: number, maxBytes: number): Promise<Socket> {
  const socket = connect(port, host);
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  const bounded = boundResults(maxBytes);
  const on = socket.on.bind(socket) as (event: string, listener: (...given: never[]) => void) => Socket;
  return Object.assign(socket, {
    on(event: string, listener: (...given: never[]) => void) {
      if (event !== "data") return on(event, listener);
      const take = listener as (chunk: Buffer) => void;
      return on("data", (chunk: Buffer) => {
        const rest = bounded(chunk);
        if (rest.length > 0) take(rest);
      });
    },
  });
}

const headerLength = 5;
const [dataRow, readyForQuery] = [0x44, 0x5a];

/** Passes server messages on until the rows of one result exceed the limit. */
export function boundResults(maxBytes: number): (chunk: Buffer) => Buffer {
  let partOfHeader = Buffer.alloc(0);
  let left = 0;
  let isPassing = true;
  let isTooLarge = false;
  let bytes = 0;
  return (received) => {
    const chunk = partOfHeader.length > 0 ? Buffer.concat([partOfHeader, received]) : received;
    partOfHeader = Buffer.alloc(0);
    const rest: Buffer[] = [];
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
        if (bytes > maxBytes && !isTooLarge) {
          isTooLarge = true;
          rest.push(tooLarge(maxBytes));
        }
        isPassing = !isTooLarge || type === readyForQuery;
        if (type === readyForQuery) [bytes, isTooLarge] = [0, false];
      }
      const end = Math.min(chunk.length, at + left);
      if (isPassing) rest.push(chunk.subarray(at, end));
      left -= end - at;
      at = end;
    }
    return rest.length === 1 && rest[0] ? rest[0] : Buffer.concat(rest);
  };
}

/** An ErrorResponse in the Postgres protocol. */
function tooLarge(maxBytes: number): Buffer {
  const message = `The response is larger than ${maxBytes >> 20} MiB: request fewer rows or columns, or pages with limit and offset.`;
  const fields = Buffer.from(`SERROR\0VERROR\0C54000\0M${message}\0\0`);
  const header = Buffer.alloc(headerLength);
  header.write("E");
  header.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([header, fields]);
}
