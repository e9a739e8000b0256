import { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";
import postgres from "postgres";
import { parserOf, type Query, textOf } from "./database-query.ts";

export type Rows<Row = object> = readonly Row[] & { command: string };

type Field = { name: string; parse: ((text: string) => unknown) | undefined };
type Prepared = { name: string; fields: Field[]; isReady: boolean };
type Batch = {
  statements: Prepared[];
  results: Rows[];
  rows: object[];
  error?: Error;
  resolve(results: Rows[]): void;
  reject(error: Error): void;
};

const codeOf = (letter: string) => letter.charCodeAt(0);
const [parseComplete, rowDescription, dataRow] = ["1", "T", "D"].map(codeOf);
const [commandComplete, errorResponse, readyForQuery] = ["C", "E", "Z"].map(codeOf);
// SQLSTATEs of a prepared statement that is gone, or whose result has changed.
const staleStatement = /^(?:26000|0A000)$/;

/**
 * Runs batches of statements on a connection that is logged in. A batch is sent in one write and ends with one Sync, so
 * Postgres answers it in one write too. Outside of `begin` and `commit` it is a transaction of its own: all or nothing.
 */
export class Pipeline {
  private readonly prepared = new Map<string, Prepared>();
  private readonly batches: Batch[] = [];
  private unread: Buffer[] = [];
  private length = 0;
  /** How many bytes there have to be for the next message. */
  private wanted = 0;
  // Unique: a pooler that does not track statements might run another connection's of the same name.
  private readonly prefix = crypto.randomUUID();
  private count = 0;

  constructor(
    private readonly socket: Duplex,
    private readonly prepares: boolean,
  ) {
    socket.on("data", (chunk: Uint8Array) => this.read(chunk));
  }

  /** One answer a query, or the error that took all of them back. */
  run(queries: readonly Query[]): Promise<Rows[]> {
    return new Promise((resolve, reject) => {
      const out = new Writer();
      const statements = queries.map((query) => this.send(out, query));
      out.message("S").end();
      this.batches.push({ statements, results: [], rows: [], resolve, reject });
      this.socket.write(out.bytes());
    });
  }

  private send(out: Writer, query: Query): Prepared {
    const { text, parameters, types } = textOf(query);
    const key = `${types} ${text}`;
    let statement = this.prepared.get(key);
    if (!statement?.isReady) {
      statement = { name: this.prepares ? `${this.prefix} ${++this.count}` : "", fields: [], isReady: false };
      if (this.prepares) this.prepared.set(key, statement);
      out.message("P").text(statement.name).text(text).int16(types.length);
      for (const type of types) out.int32(type);
      out.end();
      out.message("D").char("S").text(statement.name).end();
    }
    out.message("B").text("").text(statement.name).int16(0).int16(parameters.length);
    for (const parameter of parameters) out.value(parameter);
    out.int16(0).end();
    out.message("E").text("").int32(0).end();
    return statement;
  }

  private read(chunk: Uint8Array) {
    this.unread.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    this.length += chunk.byteLength;
    if (this.length < this.wanted) return;
    const data = this.unread.length === 1 ? (this.unread[0] as Buffer) : Buffer.concat(this.unread);
    let at = 0;
    this.wanted = 5;
    while (at + 5 <= data.length) {
      const end = at + 1 + data.readUInt32BE(at + 1);
      if (end > data.length) {
        this.wanted = end - at;
        break;
      }
      this.handle(data[at] as number, data, at + 5, end);
      at = end;
    }
    this.unread = at === data.length ? [] : [data.subarray(at)];
    this.length = data.length - at;
  }

  private handle(type: number, data: Buffer, at: number, end: number) {
    const batch = this.batches[0];
    if (!batch) return;
    const statement = batch.statements[batch.results.length];
    if (type === dataRow) batch.rows.push(rowOf(data, at, statement?.fields ?? []));
    else if (type === commandComplete) {
      const command = data.toString("latin1", at, end - 1).split(" ")[0] ?? "";
      batch.results.push(Object.assign(batch.rows, { command }));
      batch.rows = [];
    } else if (type === rowDescription && statement) statement.fields = fieldsOf(data, at);
    else if (type === parseComplete && statement) statement.isReady = true;
    else if (type === errorResponse) batch.error = this.errorOf(data.toString("utf8", at, end));
    else if (type === readyForQuery) {
      this.batches.shift();
      if (batch.error) batch.reject(batch.error);
      else batch.resolve(batch.results);
    }
  }

  private errorOf(text: string): Error {
    const fields = Object.fromEntries(
      text
        .split("\0")
        .filter(Boolean)
        .map((field) => [errorFields[field[0] as string] ?? field[0], field.slice(1)]),
    );
    if (staleStatement.test(fields.code ?? "")) this.prepared.clear();
    return new postgres.PostgresError(fields as never);
  }
}

const errorFields: Record<string, string> = {
  S: "severity",
  C: "code",
  M: "message",
  D: "detail",
  H: "hint",
  W: "where",
  n: "constraint_name",
};

function fieldsOf(data: Buffer, start: number): Field[] {
  let at = start + 2;
  return Array.from({ length: data.readUInt16BE(start) }, () => {
    const end = data.indexOf(0, at);
    const name = data.toString("utf8", at, end);
    // Behind the name: table, column, type.
    const parse = parserOf(data.readUInt32BE(end + 7));
    at = end + 19;
    return { name, parse };
  });
}

function rowOf(data: Buffer, start: number, fields: Field[]): object {
  const row: Record<string, unknown> = {};
  let at = start + 2;
  for (const { name, parse } of fields) {
    const length = data.readInt32BE(at);
    at += 4;
    if (length < 0) {
      row[name] = null;
      continue;
    }
    const text = data.toString("utf8", at, at + length);
    row[name] = parse ? parse(text) : text;
    at += length;
  }
  return row;
}

/** Messages of Postgres's protocol, one after another. */
class Writer {
  private data = Buffer.allocUnsafe(2048);
  private at = 0;
  private start = 0;

  message(type: string): this {
    this.char(type);
    this.start = this.at;
    return this.int32(0);
  }

  end() {
    this.data.writeInt32BE(this.at - this.start, this.start);
  }

  char(letter: string): this {
    this.room(1);
    this.data[this.at++] = codeOf(letter);
    return this;
  }

  int16(value: number): this {
    this.room(2);
    this.at = this.data.writeUInt16BE(value, this.at);
    return this;
  }

  int32(value: number): this {
    this.room(4);
    this.at = this.data.writeInt32BE(value, this.at);
    return this;
  }

  text(value: string): this {
    this.utf8(value);
    this.room(1);
    this.data[this.at++] = 0;
    return this;
  }

  /** With its length before it. */
  value(value: string | null) {
    this.int32(-1);
    if (value === null) return;
    const from = this.at;
    this.utf8(value);
    this.data.writeInt32BE(this.at - from, from - 4);
  }

  bytes(): Uint8Array {
    return this.data.subarray(0, this.at);
  }

  private utf8(value: string) {
    this.room(value.length * 3);
    this.at += this.data.write(value, this.at, "utf8");
  }

  private room(bytes: number) {
    if (this.at + bytes <= this.data.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.data.length * 2, this.at + bytes));
    this.data.copy(larger, 0, 0, this.at);
    this.data = larger;
  }
}
