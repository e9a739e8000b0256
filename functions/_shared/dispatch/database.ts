import postgres from "postgres";
import { connectingTo } from "../database/socket.ts";
import { environment } from "../runtime/environment.ts";

const maxResponseMs = 20_000;

/** A dispatcher's connection, with a login that may only dispatch. Runs one statement at a time. */
export function dispatchDatabase(variable: string, url: string | undefined, role: string) {
  if (!url) throw new Error(`${variable} is missing: the URL of role ${role} (docs/deploy.md)`);
  const connect = () => {
    // The types of postgres.js lack `socket`.
    const transport = connectingTo(variable, url);
    return postgres(url, {
      ...transport,
      max: 1,
      idle_timeout: 30,
      connect_timeout: 5,
      prepare: environment.databasePrepare,
      connection: { application_name: role.replace("_", "-") },
      onnotice: () => {},
    });
  };
  let sql = connect();

  /** Drops the connection after a timeout. */
  return async function query<Row>(make: (sql: postgres.Sql) => PromiseLike<readonly Row[]>): Promise<readonly Row[]> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const overdue = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("The database did not answer in time.")), maxResponseMs);
    });
    try {
      return await Promise.race([make(sql), overdue]);
    } catch (error) {
      sql.end({ timeout: 0 }).catch(() => {});
      sql = connect();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  };
}
