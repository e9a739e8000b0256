import { toApiError } from "../api-error.ts";
import type { Ask } from "../endpoint.ts";
import { finishImport, importJob, importPiece, type JobFileType, runImport } from "../statements/exchange.ts";
import { type Chunk, chunksOf, problemOf } from "./chunks.ts";
import { mostCounted } from "./formats.ts";
import { type Position, type Row, rowsOf } from "./rows.ts";

const pieceSize = 1024 * 1024;
const mostRows = 500;
const mostBytes = 1_000_000;

/** A file in pieces as they are kept. */
export async function* filePieces(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let piece = new Uint8Array(pieceSize);
  let length = 0;
  for await (const part of parts) {
    for (let rest = part; rest.length > 0; ) {
      const taken = rest.subarray(0, pieceSize - length);
      piece.set(taken, length);
      length += taken.length;
      rest = rest.subarray(taken.length);
      if (length < pieceSize) continue;
      yield piece;
      piece = new Uint8Array(pieceSize);
      length = 0;
    }
  }
  if (length > 0) yield piece.subarray(0, length);
}

/** Rows of a zip as a file of them. */
export async function* rowLines(rows: AsyncIterable<Row>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const row of rows) yield encoder.encode(`${JSON.stringify(row)}\n`);
}

/** How much of a job is done at once. */
export type Budget = { chunks: number; milliseconds: number };

/**
 * Writes rows of an import until they are all written or the budget is spent, and ends it where it cannot go on. False where
 * somebody else writes, or it has ended; throws what may pass.
 */
export async function runJob(id: string, budget: Budget, ask: Ask): Promise<boolean> {
  try {
    if (await writeRows(id, budget, ask)) await ask([finishImport(id, null)]);
    return true;
  } catch (error) {
    const code = toApiError(error)?.code;
    if (code === "CONFLICT" || code === "SERVICE_UNAVAILABLE") return false;
    if (code !== "VALIDATION_ERROR" && code !== "PLAN_LIMIT_REACHED") throw error;
    await ask([finishImport(id, problemOf(error))]);
    return true;
  }
}

/** Whether all rows are written. */
async function writeRows(
  id: string,
  { chunks: mostChunks, milliseconds }: Budget,
  ask: Ask,
): Promise<boolean> {
  const endsAt = performance.now() + milliseconds;
  const [[found]] = await ask([importJob(id)]);
  const job = found?.job;
  if (job?.state !== "running") return false;
  let { position, chunks_done } = job;
  let written = 0;
  let votes = job.nameless_votes ?? mostCounted;
  for await (const { rows, next } of groupsOf(rowsFrom(id, job.file_type, position, ask), position)) {
    const allowance = { votes };
    const chunks: Chunk[] = [];
    for await (const chunk of chunksOf(rows, job.query, allowance)) chunks.push(chunk);
    if (chunks.length === 0) chunks.push({ entries: [], refused: [] });
    for (const [n, chunk] of chunks.entries()) {
      if (n < chunks_done) continue;
      if (written++ >= mostChunks || performance.now() > endsAt) return false;
      const last = n === chunks.length - 1 && { next, namelessVotes: allowance.votes };
      await ask([runImport(id, chunk, { at: position.at, chunk: n, ...last })]);
    }
    position = next;
    chunks_done = 0;
    votes = allowance.votes;
  }
  return true;
}

/** Rows that are written before it is noted how far they reach. Where the file cannot be read on, what stood before comes first. */
async function* groupsOf(
  rows: AsyncIterable<Row>,
  from: Position,
): AsyncGenerator<{ rows: Row[]; next: Position }> {
  let group: Row[] = [];
  let start = from;
  let next = from;
  let failure: { error: unknown } | undefined;
  try {
    for await (const row of rows) {
      group.push(row);
      next = row.next ?? next;
      if (group.length < mostRows && next.at - start.at < mostBytes) continue;
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

async function* rowsFrom(id: string, type: JobFileType, from: Position, ask: Ask): AsyncGenerator<Row> {
  if (type !== "rows") return yield* rowsOf(bytesFrom(id, from.at, ask), type, from);
  for await (const line of rowsOf(bytesFrom(id, from.at, ask), "jsonl", from))
    if ("values" in line) yield { ...(line.values as Row), next: line.next };
}

async function* bytesFrom(id: string, at: number, ask: Ask): AsyncGenerator<Uint8Array> {
  for (let n = Math.floor(at / pieceSize), start = at % pieceSize; ; n++, start = 0) {
    const [[piece]] = await ask([importPiece(id, n)]);
    if (!piece?.bytes) return;
    // The last row may end where a piece does.
    if (start < piece.bytes.length) yield piece.bytes.subarray(start);
    if (piece.bytes.length < pieceSize) return;
  }
}
