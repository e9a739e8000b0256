import { sql } from "./stack.ts";

export interface ColumnRights {
  table: string;
  column: string;
  /** Whether a caller without a session can read the column. */
  isPublic: boolean;
  /** Whether a caller with a session can read the column. */
  isReadable: boolean;
  isInsertable: boolean;
  isUpdatable: boolean;
}

/** The column grants of the public tables. tests/database/00_invariants.sql lists the expected ones. */
export const columnRights = () => sql<ColumnRights[]>`
  select c.relname as table, a.attname as column,
    has_column_privilege('anon', c.oid, a.attnum, 'select') as "isPublic",
    has_column_privilege('authenticated', c.oid, a.attnum, 'select') as "isReadable",
    has_column_privilege('authenticated', c.oid, a.attnum, 'insert') as "isInsertable",
    has_column_privilege('authenticated', c.oid, a.attnum, 'update') as "isUpdatable"
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' order by c.relname, a.attnum`;
