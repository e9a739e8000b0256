import type { Sql } from "../database.ts";
import type { Identity } from "../identity.ts";

export interface Rights {
  broadcast: boolean;
  presence: boolean;
}

export interface Authorization {
  /** Rights on a private topic according to the policies on realtime.messages. */
  toRead(identity: Identity, topic: string): Promise<Rights>;
  toWrite(identity: Identity, topic: string): Promise<Rights>;
}

export const allRights: Rights = { broadcast: true, presence: true };
const noRights: Rights = { broadcast: false, presence: false };

// Concurrent joins share one query.
const lifetime = 1000;

export function createAuthorization(sql: Sql): Authorization {
  const recent = new Map<string, Promise<Rights>>();
  const ask = (identity: Identity, topic: string, write: boolean) => {
    const key = `${write} ${topic} ${identity.key}`;
    const known = recent.get(key);
    if (known) return known;
    const answer = query(sql, identity, topic, write);
    recent.set(key, answer);
    setTimeout(() => recent.delete(key), lifetime).unref();
    return answer;
  };
  return {
    toRead: (identity, topic) => ask(identity, topic, false),
    toWrite: (identity, topic) => ask(identity, topic, true),
  };
}

/** A failing policy denies access. */
async function query(sql: Sql, identity: Identity, topic: string, write: boolean): Promise<Rights> {
  const rows = await sql<Rights[]>`
    select broadcast, presence from realtime.topic_rights(${topic}, ${identity.role}, ${identity.claims}, ${write})`.catch(
    () => [],
  );
  return rows[0] ?? noRights;
}
