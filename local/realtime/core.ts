import type { Keys } from "../auth/identity.ts";
import type { Sql } from "../postgres/database.ts";
import type { createAuthorization } from "./authorization.ts";
import type { Catalog } from "./catalog.ts";
import type { Channel } from "./channel.ts";
import type { Limits } from "./limits.ts";
import type { Subscriptions } from "./subscriptions.ts";

/** State shared by all channels. */
export interface Core {
  keys: Keys;
  limits: Limits;
  /** For the delivery of changes. */
  sql: Sql;
  /** For joins, which must not delay the delivery. */
  joinSql: Sql;
  catalog: Catalog;
  mayRead: ReturnType<typeof createAuthorization>;
  subscriptions: Subscriptions<Channel>;
  /** Channels by topic. A private and a public topic of the same name are unrelated. */
  topics: Map<string, Set<Channel>>;
  onWarning(message: string): void;
  /** Warns once an hour that a client was refused `what`. */
  onRefusal(what: string, address: string): void;
  /** Whether changes arrive from Postgres. */
  isUp(): boolean;
}

export const topicKey = (name: string, isPrivate: boolean) => `${isPrivate ? "private" : "public"}:${name}`;

/** What clients read when they use a part of hosted Realtime that is not in the embedded stack. */
export const notHere = (what: string) => `The embedded stack does not support ${what}; hosted Supabase does.`;
