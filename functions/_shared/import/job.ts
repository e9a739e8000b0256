import { toApiError } from "../api-error.ts";
import type { Ask } from "../endpoint.ts";
import { advancePiece, nextPiece, type Piece, runImport } from "../statements/exchange.ts";
import { type Chunk, chunksOf, writeChunk } from "./chunks.ts";
import { mostCounted } from "./formats.ts";
import type { Row } from "./rows.ts";

const mostRows = 500;
const mostCharacters = 1_000_000;

/** Rows in pieces that a step of a job reads whole. */
export async function* rowPieces(rows: AsyncIterable<Row>): AsyncGenerator<Row[]> {
  let piece: Row[] = [];
  let characters = 0;
  for await (const row of rows) {
    piece.push(row);
    characters += JSON.stringify(row).length;
    if (piece.length >= mostRows || characters >= mostCharacters) {
      yield piece;
      piece = [];
      characters = 0;
    }
  }
  if (piece.length > 0) yield piece;
}

/** Writes pieces of a job for about as long; whether all are written. */
export async function runPieces(id: string, milliseconds: number, ask: Ask): Promise<boolean> {
  const endsAt = performance.now() + milliseconds;
  do {
    const [[next]] = await ask([nextPiece(id)]);
    if (!next?.piece) return true;
    await writePiece(id, next.piece, ask);
  } while (performance.now() < endsAt);
  return false;
}

async function writePiece(
  id: string,
  { n, rows, chunks_done, query, nameless_votes }: Piece,
  ask: Ask,
): Promise<void> {
  const allowance = { votes: nameless_votes ?? mostCounted };
  const chunks: Chunk[] = [];
  for await (const chunk of chunksOf(each(rows), query, allowance)) chunks.push(chunk);
  if (chunks.length === 0) chunks.push({ entries: [], refused: [] });
  for (const [i, chunk] of chunks.entries()) {
    if (i < chunks_done) continue;
    const advance = advancePiece(id, n, i, i === chunks.length - 1, allowance.votes);
    try {
      await ask([runImport(id, chunk), advance]);
    } catch (error) {
      if (toApiError(error)?.code !== "VALIDATION_ERROR") throw error;
      await writeChunk(chunk, (part) => ask([runImport(id, part)]));
      await ask([advance]);
    }
  }
}

async function* each<Item>(items: Item[]): AsyncGenerator<Item> {
  yield* items;
}
