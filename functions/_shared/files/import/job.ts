import { columnFacts, type Facts, mappingOf } from "../../../../shared/import-fields.ts";
import type { ImportQuery } from "../../../../shared/imports.ts";
import { invalid, toApiError } from "../../http/api-error.ts";
import type { Execute } from "../../http/endpoint.ts";
import {
  finishImport,
  importFilePart,
  importJob,
  type JobFileType,
  runImport,
} from "../../statements/import-export.ts";
import { type Chunk, chunksOf, problemOf } from "./chunks.ts";
import { maxVotes } from "./formats.ts";
import { headerReader } from "./header.ts";
import { type Position, type Row, rowsOf } from "./rows.ts";

const partSize = 1024 * 1024;
/** Maximum bytes parsed at once: the rows are in memory until they are written. */
const parseChunkBytes = 64 * 1024;
const maxRows = 500;
const maxBytes = 1_000_000;

/** A stored file in parts. The buffer of a part is overwritten when the next one is read. */
export async function* fileParts(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const filePart = new Uint8Array(partSize);
  let length = 0;
  for await (const part of parts) {
    for (let rest = part; rest.length > 0; ) {
      const chunk = rest.subarray(0, partSize - length);
      filePart.set(chunk, length);
      length += chunk.length;
      rest = rest.subarray(chunk.length);
      if (length < partSize) continue;
      yield filePart;
      length = 0;
    }
  }
  if (length > 0) yield filePart.subarray(0, length);
}

/** Serializes rows of a zip, one on each line. */
export async function* rowLines(rows: AsyncIterable<Row>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const row of rows) yield encoder.encode(`${JSON.stringify(row)}\n`);
}

/** Work limit of one run. */
export type Budget = { chunks: number; milliseconds: number };

/**
 * Writes rows of an import until all are written or the budget is used, and fails it on a permanent error. Returns
 * false if another process runs it or it has ended; throws retryable errors.
 */
export async function runJob(id: string, budget: Budget, execute: Execute): Promise<boolean> {
  try {
    if (await writeRows(id, budget, execute)) await execute([finishImport(id, null)]);
    return true;
  } catch (error) {
    const code = toApiError(error)?.code;
    if (code === "CONFLICT" || code === "SERVICE_UNAVAILABLE") return false;
    if (code !== "VALIDATION_ERROR" && code !== "PLAN_LIMIT_REACHED") throw error;
    await execute([finishImport(id, problemOf(error))]);
    return true;
  }
}

/** Returns whether all rows are written. */
async function writeRows(id: string, { chunks: maxChunks, milliseconds }: Budget, execute: Execute): Promise<boolean> {
  const endsAt = performance.now() + milliseconds;
  const [[found]] = await execute([importJob(id)]);
  const job = found?.data;
  if (job?.state !== "running") return false;
  let { position, chunks_done } = job;
  let written = 0;
  let votes = job.nameless_votes ?? maxVotes;
  const { query, file_type } = job;
  const facts = columnFacts(position.columns);
  const withFacts = (next: Position): Position => ({ ...next, columns: facts.stored() });
  try {
    for await (const { rows, next } of groupsOf(rowsFrom(id, file_type, position, execute, query, facts), position)) {
      const allowance = { votes };
      const chunks: Chunk[] = [];
      for await (const chunk of chunksOf(rows, query, allowance, facts)) chunks.push(chunk);
      if (chunks.length === 0) chunks.push(nothing);
      for (const [n, chunk] of chunks.entries()) {
        if (n < chunks_done) continue;
        const last = n === chunks.length - 1 && { next: withFacts(next), namelessVotes: allowance.votes };
        for (let isWritten = false; !isWritten; ) {
          if (written++ >= maxChunks || performance.now() > endsAt) return false;
          const [[step]] = await execute([runImport(id, chunk, { at: position.at, chunk: n, ...last })]);
          isWritten = step?.data.is_written ?? true;
        }
      }
      position = next;
      chunks_done = 0;
      votes = allowance.votes;
    }
    const lacking = [...mappingOf(query).keys()].find((name) => !facts.isKnown(name));
    if (position.at === 0)
      throw invalid("body", facts.hasColumns() ? "has a header, but no records" : "is empty; send a file with records");
    if (lacking !== undefined) throw invalid("columns", `names "${lacking}", which the file does not have`);
  } catch (error) {
    if (toApiError(error)?.code === "VALIDATION_ERROR")
      await execute([runImport(id, nothing, { at: position.at, chunk: 0, next: withFacts(position) })]);
    throw error;
  }
  return true;
}

const nothing: Chunk = { entries: [], refused: [] };

/** Groups rows between two stored positions. If the file becomes unreadable, yields the rows before it first. */
async function* groupsOf(rows: AsyncIterable<Row>, from: Position): AsyncGenerator<{ rows: Row[]; next: Position }> {
  let group: Row[] = [];
  let start = from;
  let next = from;
  let failure: { error: unknown } | undefined;
  try {
    for await (const row of rows) {
      group.push(row);
      next = row.next ?? next;
      if (group.length < maxRows && next.at - start.at < maxBytes) continue;
      yield { rows: group, next };
      group = [];
      start = next;
    }
  } catch (error) {
    failure = { error };
  }
  if (group.length > 0) yield { rows: group, next };
  if (failure) throw failure.error;
}

async function* rowsFrom(
  id: string,
  type: JobFileType,
  from: Position,
  execute: Execute,
  query: ImportQuery,
  facts: Facts,
): AsyncGenerator<Row> {
  if (type !== "rows") return yield* rowsOf(bytesFrom(id, from.at, execute), type, from, headerReader(query, facts));
  for await (const line of rowsOf(bytesFrom(id, from.at, execute), "jsonl", from))
    if ("values" in line) yield { ...(line.values as Row), next: line.next };
}

async function* bytesFrom(id: string, at: number, execute: Execute): AsyncGenerator<Uint8Array> {
  for (let n = Math.floor(at / partSize), start = at % partSize; ; n++, start = 0) {
    const [[filePart]] = await execute([importFilePart(id, n)]);
    if (!filePart?.data) return;
    for (let from = start; from < filePart.data.length; from += parseChunkBytes)
      yield filePart.data.subarray(from, from + parseChunkBytes);
    if (filePart.data.length < partSize) return;
  }
}
