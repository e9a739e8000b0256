import postgres from "postgres";
import { authoritiesFor } from "../functions/_shared/tls.ts";

export type Sql = postgres.Sql;
/** What runs statements: a pool or a transaction on it. */
export type Runner = postgres.Sql | postgres.TransactionSql;

/** A small pool for the launcher's and the operator's own work; `use` closes it whatever happens. */
export function connect(url: string, connections = 1): Sql {
  const authorities = authoritiesFor("DATABASE_URL", url, process.env.DATABASE_CA);
  const known = authorities?.length ? { ca: authorities } : {};
  return postgres(url, {
    // host: the name, or address, that the certificate has to be for.
    ssl: authorities ? { host: new URL(url).hostname, ...known } : false,
    max: connections,
    onnotice: () => undefined,
    connection: { application_name: "launcher" },
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
