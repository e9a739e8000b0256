import { randomUUID } from "node:crypto";
import { beforeAll, expect, test, vi } from "vitest";
import type { EventStream as Stream } from "../../functions/mcp/event-stream.ts";
import type { follow as Follow, Follower } from "../../functions/mcp/outbox-reader.ts";
import { importFunction } from "../import-function.ts";

let EventStream: typeof Stream;
let follow: typeof Follow;

beforeAll(async () => {
  ({ EventStream } = await importFunction<{ EventStream: typeof Stream }>(
    new URL("../../functions/mcp/event-stream.ts", import.meta.url),
  ));
  ({ follow } = await importFunction<{ follow: typeof Follow }>(
    new URL("../../functions/mcp/outbox-reader.ts", import.meta.url),
  ));
});

const follower = (): Follower => ({
  stream: new EventStream(),
  organization_id: randomUUID(),
  agent_id: randomUUID(),
  key_id: randomUUID(),
  version: new Date().toISOString(),
  events: [],
  survey_id: null,
  category_ids: null,
  survey_ids: null,
  expires_at: "2100-01-01T00:00:00Z",
  cursor: { xid: 2n ** 62n, id: 0n },
});

test("a stream that opens during the check of live keys is not ended by its result", async () => {
  const ended = follower();
  const { key_id } = ended;
  let late: Follower | undefined;
  Object.defineProperty(ended, "key_id", {
    // Read while the keys to check are collected.
    get: () => {
      if (!late) {
        late = follower();
        follow(late);
      }
      return key_id;
    },
  });
  follow(ended);
  await vi.waitFor(() => expect(ended.stream.isOpen).toBe(false), { timeout: 20_000, interval: 5 });
  expect(late?.stream.isOpen).toBe(true);
  late?.stream.close();
});
