import type { Sql } from "../database.ts";
import type { Keys } from "../identity.ts";
import type { Authorization } from "./authorization.ts";
import type { Catalog } from "./catalog.ts";
import type { Channel } from "./channel.ts";
import type { Limits } from "./limits.ts";
import type { Subscriptions } from "./subscriptions.ts";
import type { Topics } from "./topics.ts";

/** State shared by all channels. */
export interface Core {
  keys: Keys;
  limits: Limits;
  sql: Sql;
  catalog: Catalog;
  authorization: Authorization;
  subscriptions: Subscriptions<Channel>;
  topics: Topics<Channel>;
  onWarning(message: string): void;
  /** Whether changes arrive from Postgres. */
  isUp(): boolean;
}
