import type { Sql } from "../database.ts";
import type { Identity } from "../identity.ts";

export interface Authorization {
  /** Whether the policies on realtime.messages let the identity read a private topic. */
  mayRead(identity: Identity, topic: string): Promise<boolean>;
}

// Concurrent joins share one query.
const lifetime = 1000;

export function createAuthorization(sql: Sql): Authorization {
  const recent = new Map<string, Promise<boolean>>();
  return {
    mayRead(identity, topic) {
      const key = `${topic} ${identity.key}`;
      const answer = recent.get(key) ?? query(sql, identity, topic);
      if (!recent.has(key)) setTimeout(() => recent.delete(key), lifetime).unref();
      recent.set(key, answer);
      return answer;
    },
  };
}

/** A failing policy denies access. */
async function query(sql: Sql, { role, claims }: Identity, topic: string): Promise<boolean> {
  const [row] = await sql<{ allowed: boolean }[]>`
    select realtime.may_read(${topic}, ${role}, ${claims}) as allowed`.catch(() => []);
  return row?.allowed === true;
}
