/** Column values in Postgres text format; a missing column is an unchanged large value. */
export type Row = Map<string, string | null>;

interface Relation {
  schema: string;
  table: string;
  columns: { name: string; isIdentity: boolean }[];
}

export interface Change {
  relation: Relation;
  type: "INSERT" | "UPDATE" | "DELETE";
  committedAt: Date;
  /** Transaction id without epoch. */
  xid: number;
  record: Row | null;
  /** Replica identity columns: of a DELETE, and of an UPDATE that changed one. */
  old: Row | null;
}

/** The row that filters see: of a DELETE the replica identity. */
export const testedRow = ({ type, record, old }: Change): Row => (type === "DELETE" ? old : record) ?? new Map();

export type Decoded =
  | { kind: "change"; change: Change }
  | { kind: "commit"; end: bigint }
  | { kind: "relation" }
  | null;

const epoch = Date.UTC(2000, 0, 1);
const names = { I: "INSERT", U: "UPDATE", D: "DELETE" } as const;

/**
 * Parses Postgres logical replication messages (pgoutput, version 1), which contain complete transactions in commit
 * order.
 */
export function createDecoder(): (message: Buffer) => Decoded {
  const relations = new Map<number, Relation>();
  let committedAt = new Date(0);
  let xid = 0;
  return (message) => {
    const reader = new Reader(message);
    const kind = reader.letter();
    switch (kind) {
      case "B":
        reader.skip(8);
        committedAt = new Date(epoch + Number(reader.int64() / 1000n));
        xid = reader.int32();
        return null;
      case "R":
        relations.set(reader.int32(), readRelation(reader));
        return { kind: "relation" };
      case "C":
        reader.skip(9);
        return { kind: "commit", end: reader.int64() };
      case "I":
      case "U":
      case "D": {
        const relation = relations.get(reader.int32());
        if (relation === undefined) throw new Error("a change of a table Postgres has not described");
        return {
          kind: "change",
          change: { relation, type: names[kind], committedAt, xid, ...readRows(reader, relation) },
        };
      }
      default:
        return null;
    }
  };
}

function readRelation(reader: Reader): Relation {
  const schema = reader.text() || "pg_catalog";
  const table = reader.text();
  reader.skip(1);
  const columns = Array.from({ length: reader.int16() }, () => {
    const isIdentity = (reader.byte() & 1) === 1;
    const name = reader.text();
    reader.skip(8);
    return { name, isIdentity };
  });
  return { schema, table, columns };
}

function readRows(reader: Reader, relation: Relation): { record: Row | null; old: Row | null } {
  const rows: { record: Row | null; old: Row | null } = { record: null, old: null };
  while (reader.more()) {
    const kind = reader.letter();
    if (kind === "N") rows.record = readRow(reader, relation);
    else rows.old = readRow(reader, relation, kind === "K");
  }
  return rows;
}

function readRow(reader: Reader, relation: Relation, identityOnly = false): Row {
  const row: Row = new Map();
  const count = reader.int16();
  for (let index = 0; index < count; index++) {
    const kind = reader.letter();
    const value = kind === "t" ? reader.string(reader.int32()) : null;
    const column = relation.columns[index];
    if (column === undefined || kind === "u" || (identityOnly && !column.isIdentity)) continue;
    row.set(column.name, value);
  }
  return row;
}

class Reader {
  private at = 0;
  constructor(private readonly bytes: Buffer) {}
  more = () => this.at < this.bytes.length;
  skip(count: number) {
    this.at += count;
  }
  byte = () => this.bytes.readUInt8(this.at++);
  letter = () => String.fromCharCode(this.byte());
  int16() {
    this.at += 2;
    return this.bytes.readUInt16BE(this.at - 2);
  }
  int32() {
    this.at += 4;
    return this.bytes.readUInt32BE(this.at - 4);
  }
  int64() {
    this.at += 8;
    return this.bytes.readBigInt64BE(this.at - 8);
  }
  string(length: number) {
    this.at += length;
    return this.bytes.toString("utf8", this.at - length, this.at);
  }
  text() {
    const end = this.bytes.indexOf(0, this.at);
    const value = this.bytes.toString("utf8", this.at, end);
    this.at = end + 1;
    return value;
  }
}
