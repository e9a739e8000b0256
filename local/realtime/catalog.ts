import type { Role } from "../auth/identity.ts";
import type { Sql } from "../postgres/database.ts";

export interface Column {
  name: string;
  type: string;
  /** Part of the primary key. */
  isKey: boolean;
  /** A policy reads it. */
  inPolicy: boolean;
  /** Roles with SELECT on the column. */
  readers: Role[];
}

export interface Table {
  schema: string;
  name: string;
  entity: string;
  /** Row-level security is enabled. */
  secured: boolean;
  columns: Column[];
}

export interface Catalog {
  tables(): Promise<Map<string, Table>>;
  /** A table changed: drop the cache. */
  forget(): void;
}

export const tableKey = (schema: string, table: string) => `${schema}.${table}`;

// Grants change without a replication message.
const lifetime = 1000;

export function createCatalog(sql: Sql, publication: string): Catalog {
  let known: { at: number; tables: Promise<Map<string, Table>> } | undefined;
  const read = async () => {
    const rows = await sql<Table[]>`
      select schema, name, entity::text, secured, columns from realtime.published_tables(array[${publication}])`;
    return new Map(rows.map((table) => [tableKey(table.schema, table.name), table]));
  };
  return {
    tables() {
      if (known === undefined || performance.now() - known.at > lifetime) {
        const tables = read();
        const own = { at: performance.now(), tables };
        known = own;
        tables.catch(() => {
          if (known === own) known = undefined;
        });
      }
      return known.tables;
    },
    forget() {
      known = undefined;
    },
  };
}
