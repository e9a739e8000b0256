import postgres from "postgres";

export type Sql = postgres.Sql;
/** What runs statements: a pool or a transaction on it. */
export type Runner = postgres.Sql | postgres.TransactionSql;

/** A small pool for the launcher's own work; `use` closes it whatever happens. */
export function connect(url: string, connections = 1): Sql {
  return postgres(url, {
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
