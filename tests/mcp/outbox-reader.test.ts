import { randomUUID } from "node:crypto";
import { beforeAll, expect, test, vi } from "vitest";
import type { EventStream as Stream } from "../../functions/mcp/event-stream.ts";
import type { follow as Follow, Follower } from "../../functions/mcp/outbox-reader.ts";
import { stack } from "../stack.ts";

let EventStream: typeof Stream;
let follow: typeof Follow;

beforeAll(async () => {
  vi.stubGlobal("Deno", {
    env: { get: (name: string) => (name === "DATABASE_URL" ? stack.superuserUrl : undefined) },
  });
  const mcp = new URL("../../functions/mcp/", import.meta.url);
  ({ EventStream } = (await import(new URL("event-stream.ts", mcp).href)) as { EventStream: typeof Stream });
  ({ follow } = (await import(new URL("outbox-reader.ts", mcp).href)) as { follow: typeof Follow });
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
  cursor: { xid: 0n, id: 0n },
});

test("a stream that opens while the database is asked which keys live is not ended with those it was asked about", async () => {
  const ended = follower();
  const { key_id } = ended;
  let late: Follower | undefined;
  Object.defineProperty(ended, "key_id", {
    // Read when the keys to ask about are gathered.
    get: () => {
      if (!late) {
        late = follower();
        follow(late);
      }
      return key_id;
    },
  });
  follow(ended);
  await vi.waitFor(() => expect(ended.stream.isOpen).toBe(false), { timeout: 10_000, interval: 5 });
  expect(late?.stream.isOpen).toBe(true);
  late?.stream.close();
});
