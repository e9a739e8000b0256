import { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";
import postgres from "postgres";
import { bytea, bytesOf, parserOf, type Query, type Sql, textOf } from "./query.ts";

/** `columns` are known without a row, too. */
export type Rows<Row = object> = readonly Row[] & { command: string; columns: readonly Pick<Field, "name">[] };

/** A statement of a request, built with `sql`. */
export type Statement<Row = object> = (sql: Sql) => PromiseLike<Rows<Row>>;
export type Results<Statements extends readonly Statement[]> = {
  -readonly [Index in keyof Statements]: Statements[Index] extends Statement<infer Row> ? Rows<Row> : never;
};

type Field = { name: string; type: number; parse: ((text: string) => unknown) | undefined };
type Prepared = { name: string; fields: Field[]; isReady: boolean };
/** inBinary: bytea columns are in binary format, possible once the columns are known; otherwise in hex. */
type Sent = { statement: Prepared; inBinary: boolean };
type Batch = {
  queries: readonly Query[];
  sent: Sent[];
  results: Rows[];
  rows: object[];
  error: postgres.PostgresError | undefined;
  isRetry: boolean;
  resolve(results: Rows[]): void;
  reject(error: Error): void;
};

const codeOf = (letter: string) => letter.charCodeAt(0);
const [textFormat, binaryFormat] = [0, 1];
const [parseComplete, rowDescription, dataRow] = ["1", "T", "D"].map(codeOf);
const [commandComplete, errorResponse, readyForQuery] = ["C", "E", "Z"].map(codeOf);
/** Transaction status: not in a transaction block. */
const idle = codeOf("I");
// SQLSTATEs for a prepared statement that no longer exists or whose result type changed.
const staleStatement = /^(?:26000|0A000)$/;

/**
 * Runs batches of statements on an authenticated connection. A batch is sent in one write and ends with one Sync, so
 * Postgres answers in one write as well. Outside of `begin` and `commit` a batch is one transaction.
 */
export class Pipeline {
  private readonly prepared = new Map<string, Prepared>();
  private readonly batches: Batch[] = [];
  private unread: Buffer[] = [];
  private length = 0;
  /** Number of bytes needed for the next message. */
  private wanted = 0;
  // Unique names: a pooler that does not track prepared statements might run another connection's statement of the same
  // name.
  private readonly prefix = crypto.randomUUID();
  private count = 0;
  private readonly out = new Writer();

  constructor(
    private readonly socket: Duplex,
    private readonly prepares: boolean,
  ) {
    socket.on("data", (chunk: Uint8Array) => this.read(chunk));
  }

  /** One result for each query, or the error that rolled back all of them. */
  run(queries: readonly Query[]): Promise<Rows[]> {
    return new Promise((resolve, reject) => this.enqueue({ queries, isRetry: false, resolve, reject }));
  }

  private enqueue(batch: Pick<Batch, "queries" | "isRetry" | "resolve" | "reject">) {
    // The buffer of an earlier batch is reused after its response.
    const out = this.batches.length === 0 ? this.out.clear() : new Writer();
    const sent = batch.queries.map((query) => this.send(out, query));
    out.message("S").end();
    this.batches.push({ ...batch, sent, results: [], rows: [], error: undefined });
    this.socket.write(out.bytes());
  }

  private send(out: Writer, query: Query): Sent {
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
    out.message("B").text("").text(statement.name);
    out.int16(parameters.length);
    for (const parameter of parameters) out.int16(parameter instanceof Uint8Array ? binaryFormat : textFormat);
    out.int16(parameters.length);
    for (const parameter of parameters) out.value(parameter);
    const inBinary = statement.isReady && statement.fields.some(({ type }) => type === bytea);
    const formats = inBinary ? statement.fields : [];
    out.int16(formats.length);
    for (const { type } of formats) out.int16(type === bytea ? binaryFormat : textFormat);
    out.end();
    out.message("E").text("").int32(0).end();
    return { statement, inBinary };
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
    const { statement, inBinary = false } = batch.sent[batch.results.length] ?? {};
    if (type === dataRow) batch.rows.push(rowOf(data, at, statement?.fields ?? [], inBinary));
    else if (type === commandComplete) {
      const command = data.toString("latin1", at, end - 1).split(" ")[0] ?? "";
      batch.results.push(Object.assign(batch.rows, { command, columns: statement?.fields ?? [] }));
      batch.rows = [];
    } else if (type === rowDescription && statement) statement.fields = fieldsOf(data, at);
    else if (type === parseComplete && statement) statement.isReady = true;
    else if (type === errorResponse) batch.error = this.errorOf(data.toString("utf8", at, end));
    else if (type === readyForQuery) {
      this.batches.shift();
      if (!batch.error) batch.resolve(batch.results);
      // Prepares the statements again: a migration changed what they return, or a pooler lost them.
      else if (staleStatement.test(batch.error.code) && data[at] === idle && !batch.isRetry)
        this.enqueue({ ...batch, isRetry: true });
      else batch.reject(batch.error);
    }
  }

  private errorOf(text: string): postgres.PostgresError {
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
    // After the name: table, column, type.
    const type = data.readUInt32BE(end + 7);
    at = end + 19;
    return { name, type, parse: parserOf(type) };
  });
}

function rowOf(data: Buffer, start: number, fields: Field[], inBinary: boolean): object {
  const row: Record<string, unknown> = {};
  let at = start + 2;
  for (const { name, type, parse } of fields) {
    const length = data.readInt32BE(at);
    at += 4;
    if (length < 0) {
      row[name] = null;
      continue;
    }
    const end = at + length;
    if (type === bytea) row[name] = inBinary ? data.subarray(at, end) : bytesOf(data, at, end);
    else {
      const text = data.toString("utf8", at, end);
      row[name] = parse ? parse(text) : text;
    }
    at = end;
  }
  return row;
}

/** A sequence of Postgres protocol messages. */
class Writer {
  private data = Buffer.allocUnsafe(2048);
  private at = 0;
  private start = 0;

  clear(): this {
    this.at = 0;
    return this;
  }

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

  /** Prefixed with its length. */
  value(value: string | Uint8Array | null) {
    this.int32(-1);
    if (value === null) return;
    const from = this.at;
    if (typeof value === "string") this.utf8(value);
    else this.binary(value);
    this.data.writeInt32BE(this.at - from, from - 4);
  }

  bytes(): Uint8Array {
    return this.data.subarray(0, this.at);
  }

  private utf8(value: string) {
    // Measuring a short text costs more than reserving its maximum size.
    this.room(value.length < 1024 ? value.length * 3 : Buffer.byteLength(value));
    this.at += this.data.write(value, this.at, "utf8");
  }

  private binary(value: Uint8Array) {
    this.room(value.length);
    this.data.set(value, this.at);
    this.at += value.length;
  }

  private room(bytes: number) {
    if (this.at + bytes <= this.data.length) return;
    // Additional space, so that messages after a large value do not copy it again.
    const larger = Buffer.allocUnsafe(Math.max(this.data.length * 2, this.at + bytes + 1024));
    this.data.copy(larger, 0, 0, this.at);
    this.data = larger;
  }
}
