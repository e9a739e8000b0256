import type { Sql } from "../database.ts";
import type { Identity } from "../identity.ts";
import { type Catalog, type Table, tableKey } from "./catalog.ts";
import { type Filter, FilterError, isByText, parseFilter } from "./filters.ts";
import type { Change, Row } from "./pgoutput.ts";
import { isObject } from "./protocol.ts";

type EventName = Change["type"] | "*";

/** One `.on("postgres_changes", …)` of a client. */
export interface Binding {
  id: number;
  event: EventName;
  schema: string;
  table: string;
  filters: Filter[];
  select: string[] | null;
}

/** A binding of a joined channel with its identity; a new token creates a new subscription. */
export interface Subscription<Owner> extends Binding {
  owner: Owner;
  identity: Identity;
}

const maxConditions = 20;
const maxFilterLength = 8000;
const maxPatternLength = 200;

/** Validates a binding for an identity; throws FilterError with the messages clients know. */
export async function checkBinding(
  sql: Sql,
  catalog: Catalog,
  identity: Identity,
  requested: unknown,
  id: number,
): Promise<Binding> {
  const binding = readBinding(requested);
  const tables = [...(await catalog.tables()).values()].filter(
    ({ schema, name }) => covers(binding.schema, schema) && covers(binding.table, name),
  );
  const described = `[event: ${binding.event}, schema: ${binding.schema}, table: ${binding.table}, filters: ${binding.filter}]`;
  if (tables.length === 0)
    throw new FilterError(
      `Unable to subscribe to changes with given parameters. Please check Realtime is enabled for the given connect parameters: ${described}`,
    );
  try {
    const filters = await checkFilters(sql, tables, identity, binding.filter);
    for (const column of binding.select ?? []) {
      if (!tables.every((table) => isReadable(table, column, identity)))
        throw new FilterError(`invalid column for select ${column}`);
    }
    return {
      id,
      event: binding.event,
      schema: binding.schema,
      table: binding.table,
      filters,
      select: binding.select,
    };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new FilterError(
      `Unable to subscribe to changes with given parameters. An exception happened so please check your connect parameters: ${described}. Exception: ${error.message}`,
    );
  }
}

function readBinding(requested: unknown) {
  if (!isObject(requested)) throw new FilterError("No subscription params provided.");
  const { event, schema, table, filter, select } = requested;
  if (typeof schema !== "string" && typeof table !== "string")
    throw new FilterError(
      "No subscription params provided. Please provide at least a `schema` or `table` to subscribe to",
    );
  const columns = Array.isArray(select) ? select.filter((column) => typeof column === "string") : [];
  const binding = {
    event: eventOf(event),
    schema: typeof schema === "string" ? schema : "public",
    table: typeof table === "string" ? table : "*",
    filter: typeof filter === "string" ? filter : "",
    select: columns.length > 0 ? columns : null,
  };
  if (binding.select && (binding.schema === "*" || binding.table === "*"))
    throw new FilterError(
      "Column selection is not supported for wildcard subscriptions. Provide an explicit schema and table name.",
    );
  return binding;
}

function eventOf(event: unknown): EventName {
  const name = typeof event === "string" ? event.toUpperCase() : "*";
  return name === "INSERT" || name === "UPDATE" || name === "DELETE" ? name : "*";
}

async function checkFilters(sql: Sql, tables: Table[], identity: Identity, text: string): Promise<Filter[]> {
  if (text.length > maxFilterLength) throw new FilterError("the filter is too long");
  const conditions = parseFilter(text);
  if (conditions.length > maxConditions)
    throw new FilterError(`too many conditions. Maximum ${maxConditions}`);
  const filters: Filter[] = [];
  for (const condition of conditions) {
    if (/match$/.test(condition.operator) && condition.value.length > maxPatternLength)
      throw new FilterError(`the pattern is too long. Maximum ${maxPatternLength} characters`);
    if (/match$/.test(condition.operator) && isSlowPattern(condition.value))
      throw new FilterError("the pattern has a back reference or look-around, which is not supported");
    const [table] = tables;
    if (!table || !tables.every((each) => isReadable(each, condition.column, identity)))
      throw new FilterError(`invalid column for filter ${condition.column}`);
    const column = table.columns.find(({ name }) => name === condition.column);
    if (!column) throw new FilterError(`invalid column for filter ${condition.column}`);
    const [checked] = await sql<{ value: string }[]>`
      select realtime.checked_value(${column.oid}, ${condition.operator}, ${condition.value}) as value`;
    filters.push({
      ...condition,
      value: checked?.value ?? condition.value,
      typeOid: column.oid,
      byText: isByText(condition, column.type),
    });
  }
  return filters;
}

// Postgres evaluates all other patterns in time linear in the text.
const isSlowPattern = (pattern: string) => /\\[1-9]|\(\?[=!<]|^\*\*\*/.test(pattern);

const isReadable = (table: Table, column: string, { role }: Identity) =>
  table.columns.some(({ name, readers }) => name === column && readers.includes(role));

const covers = (requested: string, name: string) => requested === "*" || requested === name;

interface TableSubscriptions<Owner> {
  plain: Set<Subscription<Owner>>;
  /** Subscriptions with an equality filter, by value. */
  byColumn: Map<string, Map<string, Set<Subscription<Owner>>>>;
}

/** All subscriptions by table and, for equality filters, by value. */
export class Subscriptions<Owner> {
  private readonly byTable = new Map<string, TableSubscriptions<Owner>>();

  add(subscription: Subscription<Owner>): void {
    this.place(subscription, true)?.add(subscription);
  }

  remove(subscription: Subscription<Owner>): void {
    const key = tableKey(subscription.schema, subscription.table);
    this.place(subscription, false)?.delete(subscription);
    const forTable = this.byTable.get(key);
    const first = subscription.filters.find(({ byText }) => byText);
    if (forTable && first && forTable.byColumn.get(first.column)?.get(first.value)?.size === 0) {
      forTable.byColumn.get(first.column)?.delete(first.value);
    }
  }

  /** Candidates for a change: the event matches, and so do filters that can be compared as text. */
  candidates(change: Change): Subscription<Owner>[] {
    const { schema, table } = change.relation;
    const row: Row = (change.type === "DELETE" ? change.old : change.record) ?? new Map();
    const found: Subscription<Owner>[] = [];
    for (const key of [tableKey(schema, table), tableKey(schema, "*"), tableKey("*", "*")]) {
      const forTable = this.byTable.get(key);
      if (forTable === undefined) continue;
      const sets = [forTable.plain];
      for (const [column, values] of forTable.byColumn)
        sets.push(values.get(row.get(column) ?? "") ?? new Set());
      for (const set of sets) {
        for (const subscription of set) {
          if (subscription.event === "*" || subscription.event === change.type) found.push(subscription);
        }
      }
    }
    return found;
  }

  private place(subscription: Subscription<Owner>, make: boolean): Set<Subscription<Owner>> | undefined {
    const key = tableKey(subscription.schema, subscription.table);
    let forTable = this.byTable.get(key);
    if (forTable === undefined) {
      if (!make) return undefined;
      forTable = { plain: new Set(), byColumn: new Map() };
      this.byTable.set(key, forTable);
    }
    const first = subscription.filters.find(({ byText }) => byText);
    if (first === undefined) return forTable.plain;
    const values = forTable.byColumn.get(first.column) ?? new Map<string, Set<Subscription<Owner>>>();
    forTable.byColumn.set(first.column, values);
    const set = values.get(first.value) ?? new Set();
    values.set(first.value, set);
    return set;
  }
}
