import type { Identity } from "../auth/identity.ts";
import type { Sql } from "../postgres/database.ts";
import { type Table, tableKey } from "./catalog.ts";
import { type Filter, FilterError, isByText, mayPass, parseFilter } from "./filters.ts";
import { type Change, testedRow } from "./pgoutput.ts";
import { isObject } from "./protocol.ts";

type EventName = Change["type"] | "*";

/** One `.on("postgres_changes", …)` as a client sent it. */
export interface Requested {
  event?: string;
  schema?: string;
  table?: string;
  filter?: string;
  select?: string[];
}

export interface Binding {
  /** Its position in the channel, from 1, so that subscribers share frames. */
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

// Most of it for the messages: one for each change.
const bytesOfSubscription = 8 * 1024;
const bytesOfFilter = 256;
// Postgres compares such a filter with each change of the table, selected columns make another text of it, and
// without a filter that is found by its value the subscription gets each change.
const bytesOfOwnWork = 32 * 1024;

/** The filters that only Postgres can compare. */
export const compared = ({ filters }: Binding): Filter[] => filters.filter(({ byText }) => !byText);

/** What a subscription counts in the budget of its client. */
export function bytesOf(binding: Binding): number {
  const { filters, select } = binding;
  const texts = [...filters.flatMap(({ column, value }) => [column, value]), ...(select ?? [])];
  const ofTexts = 2 * texts.reduce((sum, text) => sum + text.length, 0);
  const ownWork = compared(binding).length + Number(select !== null) + Number(placeOf(binding) === unfiltered);
  return bytesOfSubscription + bytesOfFilter * filters.length + bytesOfOwnWork * ownWork + ofTexts;
}

export function readRequested(sent: unknown): Requested {
  if (!isObject(sent)) return {};
  const { event, schema, table, filter, select } = sent;
  const columns = Array.isArray(select) ? select.filter((column) => typeof column === "string") : [];
  return {
    ...(typeof event === "string" && { event }),
    ...(typeof schema === "string" && { schema }),
    ...(typeof table === "string" && { table }),
    ...(typeof filter === "string" && { filter }),
    ...(columns.length > 0 && { select: columns }),
  };
}

interface Draft extends Binding {
  tables: Table[];
  /** The binding in messages. */
  described: string;
}

/** Reads bindings for an identity; throws FilterError with the messages clients know. */
export function readBindings(tables: Map<string, Table>, identity: Identity, requested: Requested[]): Draft[] {
  return requested.map((each, index) => readBinding([...tables.values()], identity, each, index + 1));
}

/** The bindings with values in the text format of Postgres, which has compared them with a row of each table. */
export async function acceptBindings(joinSql: Sql, drafts: Draft[]): Promise<Binding[]> {
  const accepted: Binding[] = [];
  for (const { tables, described, ...binding } of drafts) {
    let { filters } = binding;
    for (const { entity } of filters.length > 0 ? tables : []) {
      const [checked] = await joinSql<{ values: string[] }[]>`
        select realtime.checked_values(${entity}::regclass, ${JSON.stringify(binding.filters)}::text::jsonb) as values`.catch(
        (error: unknown) => Promise.reject(refusalOf(described, error)),
      );
      filters = binding.filters.map((filter, index) => ({ ...filter, value: checked?.values[index] ?? filter.value }));
    }
    accepted.push({ ...binding, filters });
  }
  return accepted;
}

function readBinding(published: Table[], identity: Identity, requested: Requested, id: number): Draft {
  if (requested.schema === undefined && requested.table === undefined)
    throw new FilterError(
      "No subscription params provided. Please provide at least a `schema` or `table` to subscribe to",
    );
  const { schema = "public", table = "*", filter = "", select = null } = requested;
  if (select && (schema === "*" || table === "*"))
    throw new FilterError(
      "Column selection is not supported for wildcard subscriptions. Provide an explicit schema and table name.",
    );
  const event = eventOf(requested.event);
  const tables = published.filter((each) => covers(schema, each.schema) && covers(table, each.name));
  const described = `[event: ${event}, schema: ${schema}, table: ${table}, filters: ${filter}]`;
  if (tables.length === 0)
    throw new FilterError(
      `Unable to subscribe to changes with given parameters. Please check Realtime is enabled for the given connect parameters: ${described}`,
    );
  try {
    const filters = readFilters(tables, identity, filter);
    for (const column of select ?? []) {
      if (!tables.every((each) => isReadable(each, column, identity)))
        throw new FilterError(`invalid column for select ${column}`);
    }
    // In the order of the table, so that equal selections share messages.
    const names = tables.flatMap(({ columns }) => columns.map(({ name }) => name));
    const selected = select && names.filter((name) => select.includes(name));
    return { id, event, schema, table, filters, select: selected, tables, described };
  } catch (error) {
    throw refusalOf(described, error);
  }
}

const refusalOf = (described: string, error: unknown) =>
  error instanceof Error
    ? new FilterError(
        `Unable to subscribe to changes with given parameters. An exception happened so please check your connect parameters: ${described}. Exception: ${error.message}`,
      )
    : error;

function eventOf(event = "*"): EventName {
  const name = event.toUpperCase();
  return name === "INSERT" || name === "UPDATE" || name === "DELETE" ? name : "*";
}

function readFilters(tables: Table[], identity: Identity, text: string): Filter[] {
  if (text.length > maxFilterLength) throw new FilterError("the filter is too long");
  const conditions = parseFilter(text);
  if (conditions.length > maxConditions) throw new FilterError(`too many conditions. Maximum ${maxConditions}`);
  return conditions.map((condition) => {
    if (!tables.every((table) => isReadable(table, condition.column, identity)))
      throw new FilterError(`invalid column for filter ${condition.column}`);
    const types = tables.map(({ columns }) => columns.find(({ name }) => name === condition.column)?.type);
    return { ...condition, byText: types.every((type) => isByText(condition, type)) };
  });
}

const isReadable = (table: Table, column: string, { role }: Identity) =>
  table.columns.some(({ name, readers }) => name === column && readers.includes(role));

const covers = (requested: string, name: string) => requested === "*" || requested === name;

// A subscription with an equality filter is found by the value in the row.
const unfiltered = "";
const placeOf = ({ filters }: Binding) => {
  const first = filters.find(({ byText }) => byText);
  return first ? `${first.column}=${first.value}` : unfiltered;
};

/** All subscriptions by table and place. */
export class Subscriptions<Owner> {
  private readonly byTable = new Map<string, Map<string, Set<Subscription<Owner>>>>();

  add(subscription: Subscription<Owner>): void {
    const [key, place] = [tableKey(subscription.schema, subscription.table), placeOf(subscription)];
    const places = this.byTable.get(key) ?? new Map<string, Set<Subscription<Owner>>>();
    this.byTable.set(key, places);
    places.set(place, (places.get(place) ?? new Set()).add(subscription));
  }

  remove(subscription: Subscription<Owner>): void {
    const places = this.byTable.get(tableKey(subscription.schema, subscription.table));
    const set = places?.get(placeOf(subscription));
    set?.delete(subscription);
    if (set?.size === 0) places?.delete(placeOf(subscription));
  }

  /** Candidates for a change: the event matches, and so do filters that can be compared as text. */
  candidates(change: Change): Subscription<Owner>[] {
    const { schema, table } = change.relation;
    const row = testedRow(change);
    const places = [unfiltered, ...[...row].map(([column, value]) => `${column}=${value}`)];
    return [tableKey(schema, table), tableKey(schema, "*"), tableKey("*", table), tableKey("*", "*")]
      .flatMap((key) => places.flatMap((place) => [...(this.byTable.get(key)?.get(place) ?? [])]))
      .filter(({ event, filters }) => (event === "*" || event === change.type) && mayPass(filters, row));
  }
}
