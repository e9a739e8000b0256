import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { only } from "../api/world.ts";
import { type ColumnRights, columnRights } from "../column-rights.ts";
import { sql } from "../stack.ts";
import { type Act, acts, type Board, boards, callable, type Role, roles, views, visible } from "./expected.ts";
import { insertBy, type RestAnswer, rest, rpc } from "./rest.ts";
import { makeWorld, type Scene } from "./world.ts";

type Table = keyof typeof acts;
type Verb = "insert" | "update" | "delete";
const tables = Object.keys(acts) as Table[];

/** The row of a scene that is read, changed or deleted. */
const rowOf: Record<Table, (scene: Scene) => Record<string, string>> = {
  organizations: (s) => ({ id: s.organization_id }),
  profiles: (s) => ({ id: s.author_id }),
  memberships: (s) => ({ organization_id: s.organization_id }),
  categories: (s) => ({ id: s.category }),
  tags: (s) => ({ id: s.tag }),
  submissions: (s) => ({ id: s.submission }),
  submission_tags: (s) => ({ submission_id: s.submission, tag_id: s.tag }),
  status_changes: (s) => ({ id: s.status_change }),
  votes: (s) => ({ submission_id: s.submission }),
  comments: (s) => ({ id: s.comment }),
  comment_votes: (s) => ({ comment_id: s.comment }),
  follows: (s) => ({ submission_id: s.submission }),
  notifications: (s) => ({ id: s.notification }),
  surveys: (s) => ({ id: s.survey }),
  survey_questions: (s) => ({ id: s.question }),
  survey_options: (s) => ({ id: s.option }),
  survey_responses: (s) => ({ id: s.response }),
};

const updates: Record<Table, Record<string, unknown>> = {
  organizations: { name: "Taken over" },
  profiles: { name: "Taken over" },
  memberships: { role: "owner" },
  categories: { name: "Taken over" },
  tags: { name: "Taken over" },
  submissions: { title: "Taken over by somebody" },
  submission_tags: { tag_id: randomUUID() },
  status_changes: { note: "Taken over" },
  votes: { created_at: "2000-01-01" },
  comments: { body: "Taken over" },
  comment_votes: { created_at: "2000-01-01" },
  follows: { reason: "vote" },
  notifications: { read_at: "2000-01-01T00:00:00Z" },
  surveys: { status: "archived" },
  survey_questions: { text: "Taken over?" },
  survey_options: { text: "Taken over" },
  survey_responses: { locale: "de" },
};

const inserts: Record<Table, (scene: Scene, userId: string) => Record<string, unknown>> = {
  organizations: () => ({ slug: `x-${randomUUID()}`, name: "Mine now" }),
  profiles: () => ({ name: "Made up" }),
  memberships: (s, user_id) => ({ organization_id: s.organization_id, user_id, role: "owner" }),
  categories: (s) => ({ organization_id: s.organization_id, name: "Mine", slug: `x-${randomUUID()}` }),
  tags: (s) => ({ organization_id: s.organization_id, name: "Mine", slug: `x-${randomUUID()}` }),
  submissions: (s) => ({
    organization_id: s.organization_id,
    title: `Inserted about ${s.submission}`,
    description: "A description that is long enough.",
    type: "idea",
  }),
  submission_tags: (s) => ({ organization_id: s.organization_id, submission_id: s.submission, tag_id: s.otherTag }),
  status_changes: (s) => ({ organization_id: s.organization_id, submission_id: s.submission, new_status: "declined" }),
  votes: (s) => ({ submission_id: s.submission }),
  comments: (s) => ({ submission_id: s.submission, body: "Said by the matrix." }),
  comment_votes: (s) => ({ comment_id: s.comment }),
  follows: (s) => ({ submission_id: s.submission }),
  notifications: (s, user_id) => ({
    organization_id: s.organization_id,
    user_id,
    type: "vote",
    submission_id: s.submission,
    event_id: randomUUID(),
  }),
  surveys: (s) => ({ organization_id: s.organization_id, title: `Inserted about ${s.submission}` }),
  survey_questions: (s) => ({
    organization_id: s.organization_id,
    survey_id: s.draft,
    type: "text",
    text: "Mine?",
    position: 2,
  }),
  survey_options: (s) => ({
    organization_id: s.organization_id,
    survey_id: s.draft,
    question_id: s.question,
    text: "Mine",
    position: 2,
  }),
  survey_responses: (s) => ({ survey_id: s.answered, answers: s.answers }),
};

/** The functions that clients call instead of updating or deleting a row, with their arguments. */
const changeBy: Record<Table, Partial<Record<Verb, (scene: Scene) => [string, Record<string, unknown>]>>> = {
  submissions: {
    update: (s) => ["update_submission", { id: s.submission, changes: updates.submissions }],
    delete: (s) => ["delete_submission", { id: s.submission }],
  },
  votes: { delete: (s) => ["unvote", { submission_id: s.submission }] },
  comments: {
    update: (s) => ["update_comment", { id: s.comment, ...updates.comments }],
    delete: (s) => ["delete_comment", { id: s.comment }],
  },
  comment_votes: { delete: (s) => ["unvote_comment", { comment_id: s.comment }] },
  follows: { delete: (s) => ["unfollow", { submission_id: s.submission }] },
  notifications: { update: (s) => ["mark_notifications_read", { ids: [s.notification] }] },
  // No team member has this name, even if an earlier attempt renamed one.
  profiles: { update: () => ["update_profile", { changes: { name: `Taken over ${randomUUID()}` } }] },
};

const words = (text: string) => text.split(" ").filter(Boolean);
const asFilter = (row: Record<string, string>) =>
  Object.entries(row)
    .map(([column, value]) => `${column}=eq.${value}`)
    .join("&");
const world = await makeWorld();
const rights: readonly ColumnRights[] = await columnRights();

const columnsOf = (table: Table) => rights.filter((column) => column.table === table);
const mayRead = (role: Role, column: ColumnRights) => (role === "anon" ? column.isPublic : column.isReadable);
/** A column that the role may select; any other if there is none. */
const keyOf = (table: Table, role: Role) =>
  (columnsOf(table).find((column) => mayRead(role, column)) ?? only(columnsOf(table)[0])).column;

/** Rows of the whole organization have no moderation state. */
const ofOrganization = ["organizations", "categories", "tags", "memberships"];

describe("a SELECT returns exactly the rows of", () => {
  let scenes: Record<Board, Scene>;
  beforeAll(async () => {
    const [open, pending, closed] = await Promise.all(boards.map((board) => world.scene(board)));
    scenes = { open: only(open), waiting: only(pending), closed: only(closed) };
  });

  const rowAt = (table: Table, board: Board) =>
    table === "profiles" && board === "waiting" ? { id: world.newcomer.id } : (rowOf[table]?.(scenes[board]) ?? {});

  it.each(tables)("%s", async (table) => {
    const tried = boards.filter((board) => board !== "waiting" || !ofOrganization.includes(table));
    const seen = await Promise.all(
      roles.map(async (role) => {
        const read = (board: Board) =>
          rest(`${table}?select=${keyOf(table, role)}&${asFilter(rowAt(table, board))}`, { token: world.token(role) });
        const answers = await Promise.all(tried.map(read));
        if (answers.every((answer) => answer.code === "42501")) return [role, "refused"];
        expect(answers.map((answer) => answer.status)).toEqual(tried.map(() => 200));
        return [role, tried.filter((_, index) => answers[index]?.rows.length).join(" ")];
      }),
    );
    expect(Object.fromEntries(seen)).toEqual(visible[table]);
  });
});

describe("the effect of a write", () => {
  const outcomes = new Map<string, string>();
  // An action without a grant does not depend on the row: one board is enough.
  const boardsOf = (act: Act): readonly Board[] =>
    `${act.open}${act.waiting}${act.closed}` === "" ? ["open"] : boards;
  const cell = (table: Table, verb: Verb, board: Board, role: Role) => [table, verb, board, role].join(" ");

  beforeAll(async () => {
    // The roles take turns: they share the author's profile.
    for (const role of roles) {
      await Promise.all(
        boards.map(async (board) => {
          const scene = await world.scene(board);
          // In the order of expected.ts: dependent rows go before the rows they reference.
          for (const table of tables) {
            for (const verb of ["insert", "update", "delete"] as const) {
              if (!boardsOf(only(acts[table])[verb]).includes(board)) continue;
              outcomes.set(cell(table, verb, board, role), await attempt(table, verb, role, board, scene));
            }
          }
        }),
      );
    }
  });

  it.each(tables.flatMap((table) => (["insert", "update", "delete"] as const).map((verb) => [verb, table] as const)))(
    "%s of %s",
    (verb, table) => {
      const act = only(acts[table])[verb];
      for (const board of boardsOf(act)) {
        const may = words(act[board]);
        const expected = roles.map((role) => [
          role,
          may.includes(role)
            ? "done"
            : (act.others && role !== "anon") || (act.again === role && board !== "closed")
              ? "nothing"
              : "refused",
        ]);
        const actual = roles.map((role) => [role, outcomes.get(cell(table, verb, board, role))]);
        expect(Object.fromEntries(actual), board).toEqual(Object.fromEntries(expected));
      }
    },
  );

  /** Tries the action, and reads its effect from the database. */
  async function attempt(table: Table, verb: Verb, role: Role, board: Board, scene: Scene): Promise<string> {
    const row = rowOf[table]?.(scene) ?? {};
    const token = world.token(role);
    const userId = role === "anon" ? scene.author_id : world.people[role].id;
    const look = () => (verb === "insert" ? countOf(table, scene) : stateOf(table, row, scene));
    const before = await look();
    const body = inserts[table]?.(scene, userId);
    const [name, args] = verb === "insert" ? [insertBy[table], body] : (changeBy[table]?.[verb]?.(scene) ?? []);
    if (name === undefined) return nameOf(await onTable(table, verb, row, token, body), before !== (await look()));
    // If others may call the function, every caller is still rejected on the table itself, for every row.
    if (board === "open") {
      const { code } = await onTable(table, verb, row, token, body);
      expect([code, await look()], `${role} ${verb} ${table}`).toEqual([role === "anon" ? "42501" : "FB403", before]);
    }
    const answer = await rpc(name, args, { token });
    expect(answer.code, `${role} ${name}`).not.toBe("PGRST202");
    return nameOf(answer, before !== (await look()));
  }

  function onTable(table: Table, verb: Verb, row: Record<string, string>, token: string | undefined, body: unknown) {
    const headers = { prefer: "return=minimal" };
    if (verb === "insert") return rest(table, { token, headers, body });
    return rest(`${table}?${asFilter(row)}`, {
      method: verb === "update" ? "PATCH" : "DELETE",
      token,
      headers,
      ...(verb === "update" ? { body: updates[table] } : {}),
    });
  }

  function nameOf(answer: RestAnswer, changed: boolean): string {
    if (answer.status < 300) return changed ? "done" : "nothing";
    return changed ? `refused with ${answer.status}, but done` : "refused";
  }

  /** The author's row, for a table with one row per person. */
  async function stateOf(table: Table, row: Record<string, string>, scene: Scene): Promise<string> {
    const personal = ["votes", "comment_votes", "follows"].includes(table);
    const conditions = Object.entries(row).map(([column, value]) => sql`and t.${sql(column)} = ${value}`);
    const rows = await sql<{ state: string }[]>`
      select to_jsonb(t)::text as state from public.${sql(table)} t
      where true ${conditions} ${personal ? sql`and t.user_id = ${scene.author_id}` : sql``} order by 1`;
    return rows.map(({ state }) => state).join("\n");
  }

  /** Rows of the scene's submission or organization; profiles and organizations count as a whole. */
  async function countOf(table: Table, scene: Scene): Promise<number> {
    const at = ["profiles", "organizations"].includes(table)
      ? sql`t.name in ('Made up', 'Mine now')`
      : table === "submissions" || table === "surveys"
        ? sql`t.title like ${`%${scene.submission}`}`
        : ofOrganization.includes(table)
          ? sql`t.organization_id = ${scene.organization_id} and to_jsonb(t)::text ~ '"(Mine|owner)"'`
          : table.startsWith("survey_")
            ? sql`t.survey_id in (${scene.draft}, ${scene.answered})`
            : sql`t.submission_id = ${scene.submission}`;
    const [row] = await sql<{ n: number }[]>`select count(*)::int as n from public.${sql(table)} t where ${at}`;
    return only(row).n;
  }
});

describe("columns", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await world.scene("open");
  });

  it("of every table are in the expected matrix", () => {
    expect([...new Set(rights.map(({ table }) => table))].sort()).toEqual([...tables].sort());
  });

  it.each(tables)("of %s can be selected, filtered and sorted by with a grant only", async (table) => {
    for (const role of ["anon", "admin"] as const) {
      const token = world.token(role);
      const read = (query: string) => rest(`${table}?${query}&limit=1`, { token });
      for (const right of columnsOf(table)) {
        const { column } = right;
        const { status, code } = await read(`select=${column}`);
        const expected = mayRead(role, right) ? [200, null] : [role === "anon" ? 401 : 403, "42501"];
        expect([status, code], `${role} ${column}`).toEqual(expected);
        if (mayRead(role, right)) continue;
        for (const query of [
          `${column}=not.is.null`,
          `or=(${column}.is.null,${column}.not.is.null)`,
          `order=${column}`,
        ])
          expect((await read(`select=${keyOf(table, role)}&${query}`)).code, `${role} ${query}`).toBe("42501");
      }
    }
  });

  // The column has no grant, or is generated.
  const deniedCode = /^(42501|428C9)$/;

  it.each(tables)("of %s without a grant cannot be written, by an admin either", async (table) => {
    const row = rowOf[table]?.(scene) ?? {};
    const honest = inserts[table]?.(scene, world.people.admin.id) ?? {};
    const ways: Record<string, string>[] = [
      {},
      { prefer: "resolution=merge-duplicates" },
      { prefer: "resolution=ignore-duplicates,missing=default" },
    ];
    for (const { column, isInsertable, isUpdatable } of columnsOf(table)) {
      const [sample] = await sql<
        { value: unknown }[]
      >`select to_jsonb(t) -> ${column} as value from public.${sql(table)} t limit 1`;
      const value = sample?.value ?? null;
      const body = { ...honest, [column]: value };
      for (const token of [world.token("admin"), world.token("stranger")]) {
        if (!isInsertable) {
          const inserts = [
            ...ways.map((headers) => rest(table, { token, body, headers })),
            rest(table, { token, body: [body, body] }),
            rest(`${table}?columns=${Object.keys(body)}`, { token, body }),
          ];
          for (const { code } of await Promise.all(inserts)) expect(code, `insert of ${column}`).toMatch(deniedCode);
          // No function has an argument with that name.
          const by = insertBy[table];
          if (by) expect((await rpc(by, body, { token })).code, `${column} of ${by}`).toBe("PGRST202");
        }
        if (isUpdatable) continue;
        const change = { method: "PATCH", token, body: { [column]: value } } as const;
        const { code } = await rest(`${table}?${asFilter(row)}`, change);
        expect(code, `update of ${column}`).toMatch(deniedCode);
      }
    }
  });
});

describe("views", () => {
  it("are those expected, and no other", async () => {
    const rows = await sql<
      { name: string }[]
    >`select table_name as name from information_schema.views where table_schema = 'public'`;
    expect(rows.map(({ name }) => name).sort()).toEqual(Object.keys(views).sort());
  });

  it.each(Object.keys(views))("return the rows of %s to callers with access, and reject writes", async (view) => {
    const { answered } = await world.scene("open");
    for (const role of roles) {
      const path = `${view}?survey_id=eq.${answered}`;
      const token = world.token(role);
      const answer = await rest(`${path}&select=survey_id`, { token });
      const found = role === "anon" ? answer.code === "42501" : answer.rows.length > 0;
      expect(found, role).toBe(role === "anon" || words(views[view] ?? "").includes(role));
      const writes = [
        await rest(path, { token, method: "DELETE" }),
        await rest(view, { token, body: { survey_id: answered } }),
      ];
      for (const { status } of writes) expect(status, role).toBeGreaterThanOrEqual(400);
    }
  });
});

describe("functions", () => {
  it("through /rest/v1/rpc are those expected, and no other", async () => {
    const functions = await sql<{ schema: string; name: string }[]>`
      select distinct n.nspname as schema, p.proname as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname in ('public', 'private', 'auth', 'realtime', 'extensions')`;
    const offered = functions.filter(({ schema }) => schema === "public");
    expect(offered.map(({ name }) => name).sort()).toEqual(callable);
    const others = functions.filter(({ schema }) => schema !== "public");
    expect(others.length).toBeGreaterThan(50);
    for (const body of [{}, { user_id: world.people.author.id }]) {
      const call = async (name: string) => [
        name,
        (await rest(`rpc/${name}`, { token: world.token("admin"), body })).code,
      ];
      // One address may have only so many requests waiting.
      for (let from = 0; from < others.length; from += 50) {
        const some = others.slice(from, from + 50);
        expect(await Promise.all(some.map(({ name }) => call(name)))).toEqual(
          some.map(({ name }) => [name, "PGRST202"]),
        );
      }
    }
  });
});
