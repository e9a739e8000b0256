import type { Identity } from "../auth/identity.ts";
import type { Sql } from "../postgres/database.ts";

// Concurrent joins share one query.
const lifetime = 1000;

/** Whether the policies on realtime.messages let an identity read a private topic. */
export function createAuthorization(sql: Sql) {
  const recent = new Map<string, Promise<boolean>>();
  return (identity: Identity, topic: string): Promise<boolean> => {
    const key = `${topic} ${identity.key}`;
    const answer = recent.get(key) ?? query(sql, identity, topic);
    if (!recent.has(key)) setTimeout(() => recent.delete(key), lifetime).unref();
    recent.set(key, answer);
    return answer;
  };
}

/** A failing policy denies access. */
async function query(sql: Sql, { role, claims }: Identity, topic: string): Promise<boolean> {
  const [row] = await sql<{ allowed: boolean }[]>`
    select realtime.may_read(${topic}, ${role}, ${claims}) as allowed`.catch(() => []);
  return row?.allowed === true;
}
