import postgres from "postgres";
import { authoritiesFor } from "../../functions/_shared/database/tls.ts";

export type Sql = postgres.Sql;
/** Runs statements: a pool or a transaction of it. */
export type Runner = postgres.Sql | postgres.TransactionSql;

/** A small pool for the launcher and the operator's commands; closed after `use`. */
export function connect(url: string, connections = 1, settings: Record<string, string | number | boolean> = {}): Sql {
  const authorities = authoritiesFor("DATABASE_URL", url, process.env.DATABASE_CA);
  const known = authorities?.length ? { ca: authorities } : {};
  return postgres(url, {
    // host: the name or address that the certificate must match.
    ssl: authorities ? { host: new URL(url).hostname, ...known } : false,
    max: connections,
    // A backup may take longer, in one session.
    max_lifetime: null,
    onnotice: () => undefined,
    connection: { application_name: "launcher", ...settings },
  });
}

export async function withDatabase<Result>(url: string, use: (sql: Sql) => Promise<Result>): Promise<Result> {
  const sql = connect(url);
  try {
    return await use(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}
