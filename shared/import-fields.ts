import { z } from "zod";
import {
  columnMapping,
  columnName,
  type ImportQuery,
  importQuery,
  kindOf,
  type RecordKind,
  recordSchemas,
} from "./imports.ts";

type Names = Record<string, readonly string[]>;
/** What decides the fields of a file. */
export type FileOf = Pick<ImportQuery, "format" | "what" | "anonymous_votes" | "columns">;

const people = (...author: string[]) => ({
  author,
  author_email: ["author_email", "user_email", "voter_email", "email"],
  author_name: ["author_name", "user_name", "voter_name"],
  author_id: ["author_id"],
});
const post = ["post_id", "post_url", "post"];
const own = (...fields: string[]): Names => Object.fromEntries(fields.map((field) => [field, [field]]));

/** Names of fields in files of other services, normalized like nameOf; the first one is read. */
const foreignNames: Partial<Record<RecordKind, Names>> = {
  submission: {
    id: ["number", "post_id", "id", "url", "post_url"],
    title: ["title", "post_title", "name", "headline"],
    description: ["description", "details", "post_details", "content", "body"],
    status: ["status", "state", "post_status"],
    category: ["category", "category_name", "post_category"],
    tags: ["tags", "post_tags", "labels"],
    created_at: ["created_at", "created", "post_created", "date"],
    ...people("author", "created_by", "user", "post_author"),
    vote_count: ["votes_count", "total_votes", "vote_count", "votes", "score", "upvotes"],
    ...own("response", "responded_at", "responded_by", "moderation_state", "merged_into_id", "author_votes", "follow"),
  },
  comment: {
    id: ["id", "comment_id"],
    submission_id: post,
    body: ["value", "content", "body", "comment"],
    created_at: ["created_at", "created"],
    updated_at: ["edited_at"],
    ...people("author", "user", "created_by"),
    ...own("parent_id", "moderation_state", "follow", "internal", "private"),
  },
  vote: {
    submission_id: post,
    created_at: ["created_at", "created"],
    ...people("voter", "user", "author", "name"),
    ...own("follow"),
  },
  follow: { submission_id: post, created_at: ["created_at", "created"], ...people("user"), ...own("reason") },
  tag: own("name", "color", "is_public"),
};

const ownNames = Object.fromEntries(
  Object.entries(recordSchemas).map(([kind, { shape }]) => [kind, own(...Object.keys(shape))]),
) as Record<RecordKind, Names>;
/** A file with a column `kind` has records of several kinds. */
const anyNames: Names = { ...Object.assign({}, ...Object.values(ownNames)), kind: ["kind"] };

/** Names in the file of each field that a record has; without a kind, of records of any kind. */
function fieldNames({ format, anonymous_votes }: FileOf, kind: RecordKind | undefined): Names {
  if (format === "feedback") return kind ? { ...ownNames[kind], kind: ["kind"] } : anyNames;
  const { vote_count, ...names } = foreignNames[kind ?? "submission"] ?? (foreignNames.submission as Names);
  // Without anonymous votes nothing uses their number.
  return anonymous_votes && vote_count ? { ...names, vote_count } : names;
}

/** Fields to which a column can be mapped. */
export const fieldsOfFile = (file: FileOf): string[] =>
  Object.keys(fieldNames(file, kindOf[file.what])).filter((field) => field !== "kind");

const required = Object.fromEntries(
  Object.entries(recordSchemas).map(([kind, { shape }]) => [
    kind,
    Object.keys(shape).filter((field) => !z.safeParse((shape as z.ZodRawShape)[field] ?? z.any(), undefined).success),
  ]),
) as Record<RecordKind, string[]>;

/** Fields that every record should have. */
export const wantedFields = (file: FileOf, kind: RecordKind | undefined): string[] =>
  kind ? required[kind].filter((field) => Object.hasOwn(fieldNames(file, kind), field)) : [];

/** Fields of several values: those of all their columns. */
export const lists: ReadonlySet<string> = new Set(["tags", "locales"]);
/** The kind of records with these names; undefined if each record says it. */
export function kindOfNames(names: readonly string[], file: FileOf): RecordKind | undefined {
  const mapping = mappingOf(file);
  const has = (...wanted: string[]) =>
    names.some((name) => wanted.includes(nameOf(name)) && !mapping.has(columnName(name)));
  const kind = kindOf[file.what];
  if (file.format === "feedback") return has("kind") ? undefined : kind;
  if (has("voter")) return "vote";
  if (has("value") && !has("title", "post_title")) return "comment";
  return foreignNames[kind] ? kind : "submission";
}

/** Normalizes column and field names: `Post Title`, `postTitle` and `post_title` are equal. */
export function nameOf(name: string): string {
  return name
    .trim()
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .replaceAll(/^_|_$/g, "");
}

/** The field of each column of the mapping by name, null if it is ignored. */
export const mappingOf = ({ columns = {} }: FileOf) => new Map(Object.entries(columns));

export type Assigned = {
  /** The names as they are shown. */
  shown: string[];
  /** The field of each column; undefined if nothing uses it, null if it is ignored on purpose. */
  fields: (string | null | undefined)[];
  /** A field of a single value that has several columns. */
  repeated?: string | undefined;
};

const assigned = new Map<string, Assigned>();
const maxAssigned = 200;

/** Assigns columns, or the names of a record's fields, to fields. Most records of a file have the same names. */
export function assign(names: readonly string[], file: FileOf, kind: RecordKind | undefined): Assigned {
  const { format, anonymous_votes, columns } = file;
  const key = JSON.stringify([format, anonymous_votes, columns, kind, names]);
  const found = assigned.get(key) ?? newlyAssigned(names, file, kind);
  if (assigned.size >= maxAssigned) assigned.clear();
  assigned.set(key, found);
  return found;
}

function newlyAssigned(names: readonly string[], file: FileOf, kind: RecordKind | undefined): Assigned {
  const known = Object.entries(fieldNames(file, kind));
  const mapping = mappingOf(file);
  const shown = names.map(columnName);
  const mapped = shown.map((name) => mapping.get(name));
  const fields: Assigned["fields"] = mapped.map((field) =>
    field === null || known.some(([one]) => one === field) ? field : undefined,
  );
  const normalized = names.map((name, index) => (mapped[index] === undefined ? nameOf(name) : undefined));
  for (const [field, aliases] of known) {
    const present = aliases.filter((alias) => normalized.includes(alias));
    const chosen = lists.has(field) ? present : fields.includes(field) ? [] : present.slice(0, 1);
    for (const [index, name] of normalized.entries())
      if (name !== undefined && chosen.includes(name)) fields[index] = field;
  }
  const repeated = fields.find(
    (field, index) => typeof field === "string" && !lists.has(field) && fields.indexOf(field) !== index,
  );
  return { shown, fields, repeated: repeated ?? undefined };
}

/** Why columns cannot be mapped like this. */
export function problemOfColumns(file: FileOf): string | undefined {
  const known = fieldsOfFile(file);
  const taken = new Map<string, string>();
  for (const [column, field] of mappingOf(file)) {
    if (field === null) continue;
    if (!known.includes(field)) return `maps "${column}" to "${field}"; map it to null or one of ${known.join(", ")}`;
    const other = taken.get(field);
    if (other !== undefined && !lists.has(field))
      return `maps "${other}" and "${column}" to ${field}; map only one of them to it`;
    taken.set(field, column);
  }
}

/** Options of an import whose mapping fits its format. */
export const importOptions = importQuery
  .check((ctx) => {
    const message = problemOfColumns(ctx.value);
    if (message) ctx.issues.push({ code: "custom", input: ctx.value.columns, path: ["columns"], message });
  })
  .meta({ id: "ImportQuery", description: "Options of an import." });

/** Options that change between a dry run and what follows. */
export const applyOptions = z.object({
  columns: columnMapping,
  dates: importQuery.shape.dates,
  dry_run: importQuery.shape.dry_run.describe("Checks the file again, such as with other columns."),
});

export type ApplyOptions = z.output<typeof applyOptions>;

const maxNames = 100;

/** Names of a file, as far as it has been read: with and without use, in order and bounded. */
export type ColumnFacts = { used: string[]; unused: string[]; given: string[]; missing: string[] };

export type Facts = ReturnType<typeof columnFacts>;

export function columnFacts(stored?: ColumnFacts) {
  const sets = {
    used: new Set(stored?.used),
    unused: new Set(stored?.unused),
    given: new Set(stored?.given),
    missing: new Set(stored?.missing),
  };
  const note = (name: string, yes: Set<string>, no: Set<string>, isTrue: boolean) => {
    if (isTrue) no.delete(name);
    const into = isTrue ? yes : no;
    if ((isTrue || !yes.has(name)) && into.size < maxNames) into.add(name);
  };
  return {
    column: (name: string, isUsed: boolean) => note(name, sets.used, sets.unused, isUsed),
    field: (name: string, isGiven: boolean) => note(name, sets.given, sets.missing, isGiven),
    isKnown: (name: string) => sets.used.has(name) || sets.unused.has(name),
    hasColumns: () => sets.used.size + sets.unused.size > 0,
    stored: (): ColumnFacts => ({
      used: [...sets.used],
      unused: [...sets.unused],
      given: [...sets.given],
      missing: [...sets.missing],
    }),
  };
}
