import { ApiError, invalid } from "../../http/api-error.ts";
import { type Row, rowsOf } from "./rows.ts";
import { type HeldBytes, openZip } from "./zip.ts";

// Fider's backup.zip: one JSON array for each database table, and uploads in blobs/. Tables reference each other by id;
// this module joins them into the form of Fider's API, in an order suitable for an import.

type Values = Record<string, unknown>;
type Known = Extract<Row, { values: Values }>;

// Status numbers of Fider.
const statuses = ["open", "started", "completed", "declined", "planned", "duplicate", "deleted"];
const duplicate = 5;
const deleted = 6;
const activeSubscriber = 1;

/**
 * Yields the rows of a backup with their file, in the form that draftsOf accepts; `line` is the object's number in the
 * file. People, posts and tags are kept in memory for joins: `hold` is called with their size in bytes and throws above
 * the limit.
 */
export async function* fiderRows(
  bytes: HeldBytes,
  maxBytes: number,
  hold: (size: number) => void,
): AsyncGenerator<Row> {
  const zip = await openZip(bytes, maxBytes);
  if (!zip("posts.json")) throw invalid("body", "has no posts.json; send the unchanged backup.zip of Fider");
  // Overhead of a Map entry, and two bytes for each character.
  const addToBudget = (...texts: unknown[]) =>
    hold(100 + 2 * texts.reduce((sum: number, text) => sum + String(text).length, 0));

  async function* table(name: string): AsyncGenerator<Row> {
    const file = `${name}.json`;
    const content = zip(file);
    if (!content) return;
    let line = 0;
    try {
      for await (const row of rowsOf(content, "json")) yield { ...row, file, line: ++line };
    } catch (error) {
      const [detail] = error instanceof ApiError ? error.details : [];
      throw detail ? invalid("body", `contains ${file}, which ${detail.message}`) : error;
    }
  }

  const users = new Map<unknown, Values>();
  for await (const row of table("users")) {
    if ("message" in row) yield row;
    else {
      const name = String(row.values.name ?? "").slice(0, 200);
      const email = String(row.values.email ?? "").slice(0, 400);
      addToBudget(name, email, row.values.id, row.values.id);
      users.set(row.values.id, { name, email, author_id: `user ${row.values.id}` });
    }
  }

  const tags = new Map<unknown, string>();
  for await (const row of table("tags")) {
    // Internal notes of the team are skipped.
    if ("values" in row && row.values.is_public !== false) {
      const name = String(row.values.name ?? "").slice(0, 200);
      addToBudget(name, row.values.id);
      tags.set(row.values.id, name);
    }
    yield { ...row, what: "tags" };
  }
  const tagsOf = new Map<unknown, string[]>();
  for await (const row of table("post_tags")) {
    if ("message" in row) yield row;
    else {
      const tag = tags.get(row.values.tag_id);
      if (tag === undefined) continue;
      addToBudget(row.values.post_id);
      const others = tagsOf.get(row.values.post_id);
      if (others) others.push(tag);
      else tagsOf.set(row.values.post_id, [tag]);
    }
  }

  const numbers = new Map<unknown, unknown>();
  const left = new Set<unknown>();
  const originals = new Map<unknown, unknown>();
  const postOf = ({ values, ...row }: Known, merged_into_id?: unknown): Row => ({
    ...row,
    what: "submissions",
    values: {
      number: values.number,
      title: values.title,
      description: values.description,
      status: statuses[Number(values.status)] ?? values.status,
      created_at: values.created_at,
      user: users.get(values.user_id),
      tags: tagsOf.get(values.id),
      moderation_state: values.is_approved === false ? "pending" : undefined,
      response: { text: values.response, responded_at: values.response_date, user: users.get(values.response_user_id) },
      merged_into_id,
      // Votes and follows are in separate tables.
      author_votes: false,
      follow: false,
    },
  });
  for await (const row of table("posts")) {
    if ("message" in row) {
      yield row;
      continue;
    }
    const { id, number, status, original_id } = row.values;
    addToBudget(id, number, original_id);
    if (status === deleted) left.add(id);
    else {
      numbers.set(id, number);
      if (status === duplicate && typeof original_id === "number") originals.set(id, original_id);
      else yield postOf(row);
    }
  }
  /** The original post of a duplicate, across chains of duplicates. */
  const originalOf = (id: unknown): unknown => {
    const passed = new Set<unknown>();
    let found = id;
    while (originals.has(found) && !passed.has(found)) {
      passed.add(found);
      found = originals.get(found);
    }
    return passed.has(found) ? undefined : numbers.get(found);
  };
  if (originals.size > 0)
    for await (const row of table("posts"))
      if ("values" in row && originals.has(row.values.id)) yield postOf(row, originalOf(row.values.id));

  async function* ofPosts(name: string, what: Known["what"], convert: (values: Values) => Values | undefined) {
    for await (const row of table(name)) {
      if ("message" in row) yield row;
      else if (!left.has(row.values.post_id)) {
        const id = numbers.get(row.values.post_id);
        const values = convert(row.values);
        if (id === undefined) yield { line: row.line, file: row.file, message: "must be a post in posts.json" };
        else if (values)
          yield {
            ...row,
            what,
            values: { post: { id }, user: users.get(row.values.user_id), created_at: row.values.created_at, ...values },
          };
      }
    }
  }
  yield* ofPosts("post_subscribers", "follows", ({ status }) => ({
    reason: status === activeSubscriber ? undefined : "unfollowed",
  }));
  yield* ofPosts("comments", "comments", ({ id, content, edited_at, deleted_at, is_approved }) =>
    deleted_at
      ? undefined
      : { id, content, edited_at, moderation_state: is_approved === false ? "pending" : undefined, follow: false },
  );
  yield* ofPosts("post_votes", "votes", () => ({ follow: false }));
}
