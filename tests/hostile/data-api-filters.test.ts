import type { TransactionSql } from "postgres";
import { describe, expect, test } from "vitest";
import { newOrganization, newUser, type User } from "../api/world.ts";
import fc from "../fuzz.ts";
import { sql } from "../stack.ts";
import { type RestAnswer, rest } from "./rest.ts";

// 2,000 random requests to the data API, each against the same statement in SQL with the same role: no filter is ever
// dropped, whatever its text.

const organization = await newOrganization();
const [author, user, admin] = await Promise.all([
  newUser("Author of all"),
  newUser("Reader"),
  newUser("Admin", { organization, role: "admin" }),
]);
const people: Record<string, User | undefined> = { anonymous: undefined, user, admin };

const texts = [
  "Export to PDF",
  'A "quoted" export',
  "Comma, (parenthesis) and dot.",
  "100% of * wild_cards",
  'back\\slash \\" quote',
  '{"a":1}',
  "{a,b}",
  "[1,2]",
  "not.is.null",
  "eq.1,or(id.is.null)",
  "emoji 👍 and ümlaut",
  "a&b=c+d;e#f?",
];
const long = (text: string) => `${text} with twenty characters`;
const translations = [{}, { de: '5" Rohr' }, { de: "Export", fr: "a,b" }, { "pt-BR": "{x}" }];

await sql`
  insert into submissions (organization_id, author_id, title, description, type, vote_count, moderation_state)
  select ${organization.id}, ${author.id}, title, title || ' with twenty characters', (array['idea', 'problem'])[1 + n % 2],
    0, (array['approved', 'approved', 'pending'])[1 + n % 3]
  from unnest(${texts.map((text) => text.padEnd(5, "."))}::text[]) with ordinality as of(title, n), generate_series(1, 3)`;
await sql`
  insert into comments (submission_id, author_id, body)
  select s.id, ${author.id}, body from submissions s, unnest(${texts}::text[]) with ordinality as of(body, n)
  where s.organization_id = ${organization.id} and (n + ascii(s.title)) % 4 = 0`;
await sql`
  insert into tags ${sql(
    texts.map((name, n) => ({
      organization_id: organization.id,
      name,
      slug: `tag-${n}`,
      translations: sql.json(translations[n % translations.length] ?? {}),
    })),
  )}`;

type Condition =
  | { column: string; operator: string; negated: boolean; value: string | string[] }
  | { all: boolean; negated: boolean; conditions: Condition[] };

type Value<A> = A extends fc.Arbitrary<infer V> ? V : never;

interface Column {
  name: string;
  /** Postgres's type of the value. */
  type: string;
  operators: readonly string[];
  values: readonly string[];
}

const textual = (name: string, values: readonly string[]): Column => ({
  name,
  type: "text",
  operators: ["eq", "neq", "gt", "lte", "like", "ilike", "in", "is"],
  values: [...values, ...values.map((text) => `*${text.slice(1, -1)}*`), "", "*"],
});
const numeric = (name: string): Column => ({
  name,
  type: "int",
  operators: ["eq", "neq", "gt", "gte", "lt", "lte", "in", "is"],
  values: ["0", "1", "2", "3", "4", "-1", "x"],
});
const columns = {
  submissions: [
    textual("title", texts),
    textual("description", texts.map(long)),
    textual("type", ["idea", "problem"]),
    textual("tracker_issue_url", texts),
    numeric("comment_count"),
  ],
  comments: [textual("body", texts), numeric("vote_count")],
  tags: [
    textual("name", texts),
    {
      name: "slug",
      type: "text",
      operators: ["match", "imatch"],
      values: ["^tag-1", "(1|2)$", '[(,"]|0', "\\d{2}"],
    },
    {
      name: "translations",
      type: "jsonb",
      operators: ["cs", "cd", "eq"],
      values: translations.map((of) => JSON.stringify(of)),
    },
    textual("translations->>de", ['5" Rohr', "Export", "a,b"]),
  ],
  surveys: [textual("title", texts), textual("description", texts)],
} as const satisfies Record<string, Column[]>;
type Table = keyof typeof columns;

const sqlOperators: Record<string, string> = {
  ...{ eq: "=", neq: "<>", gt: ">", gte: ">=", lt: "<", lte: "<=" },
  ...{ like: "like", ilike: "ilike", match: "~", imatch: "~*", cs: "@>", cd: "<@" },
};

function conditionOf(table: Table): fc.Arbitrary<Condition> {
  const one = fc.constantFrom<Column>(...columns[table]).chain(({ name, operators, values }) =>
    fc.constantFrom(...operators).chain((operator) =>
      fc.record({
        column: fc.constant(name),
        operator: fc.constant(operator),
        negated: fc.boolean(),
        value:
          operator === "is"
            ? fc.constant("null")
            : operator === "in"
              ? fc.array(fc.constantFrom(...values), { minLength: 1, maxLength: 3 })
              : fc.constantFrom(...values),
      }),
    ),
  );
  const { condition } = fc.letrec<{ condition: Condition }>((tie) => ({
    condition: fc.oneof(
      { maxDepth: 2, withCrossShrink: true },
      { weight: 3, arbitrary: one },
      {
        weight: 1,
        arbitrary: fc.record({
          all: fc.boolean(),
          negated: fc.boolean(),
          conditions: fc.array(tie("condition"), { minLength: 1, maxLength: 3 }),
        }),
      },
    ),
  }));
  return condition;
}

/** The documented form of a value inside of a list: quoted, with `\` before quotes and backslashes. */
const quoted = (value: string) => `"${value.replace(/["\\]/g, "\\$&")}"`;

/** As a parameter of the query; `inner` in a list of conditions. */
function parameter(condition: Condition, inner = false): [string, string] {
  const not = condition.negated ? "not." : "";
  if ("all" in condition) {
    const list = condition.conditions.map((of) => parameter(of, true));
    return [
      `${not}${condition.all ? "and" : "or"}`,
      `(${list.map(([name, value]) => (/(?:^|\.)(?:and|or)$/.test(name) ? name + value : `${name}.${value}`)).join(",")})`,
    ];
  }
  const { column, operator, value } = condition;
  const text = Array.isArray(value)
    ? `(${value.map(quoted).join(",")})`
    : inner && operator !== "is"
      ? quoted(value)
      : value;
  return [column, `${not}${operator}.${text}`];
}

function where(table: Table, condition: Condition): string {
  const not = condition.negated ? "not " : "";
  if ("all" in condition)
    return `${not}(${condition.conditions.map((of) => where(table, of)).join(condition.all ? " and " : " or ")})`;
  const { column, operator, value } = condition;
  const type = columns[table].find(({ name }) => name === column)?.type ?? "text";
  const name = column === "translations->>de" ? "(t.translations ->> 'de')" : `t.${column}`;
  const literal = (text: string) => `'${text.replaceAll("'", "''")}'::${type}`;
  if (Array.isArray(value)) return `${not}(${name} in (${value.map(literal).join(", ")}))`;
  if (operator === "is") return `${not}(${name} is null)`;
  const pattern = /like$/.test(operator) ? value.replaceAll("*", "%") : value;
  return `${not}(${name} ${sqlOperators[operator]} ${literal(pattern)})`;
}

const query = (parameters: [string, string][]) => new URLSearchParams(parameters).toString();

class Rollback extends Error {
  constructor(readonly rows: unknown[]) {
    super();
  }
}

/** The rows of a statement as a person, or the code of its error; it changes nothing. */
async function expected(by: string, statement: string): Promise<unknown[] | string> {
  const person = people[by];
  const role = person ? "authenticated" : "anon";
  const run = async (transaction: TransactionSql) => {
    await transaction`select set_config('request.jwt.claims', ${JSON.stringify({ sub: person?.id, role })}, true), set_config('role', ${role}, true)`;
    throw new Rollback([...(await transaction.unsafe(statement))]);
  };
  return sql.begin(run).catch((error: unknown) => {
    if (error instanceof Rollback) return error.rows;
    return (error as { code: string }).code;
  }) as Promise<unknown[] | string>;
}

function expectSame(answer: RestAnswer, rows: unknown[] | string, path: string): void {
  const got = answer.code ?? answer.rows;
  expect(got, `${path}\n${answer.status} ${answer.text.slice(0, 300)}`).toEqual(rows);
}

const roles = fc.constantFrom(...Object.keys(people));
const token = (by: string) => people[by]?.token;

describe("a read returns what the same statement returns", () => {
  const embeds = ["none", "left", "inner"] as const;
  const read = fc.constantFrom("submissions" as const, "tags" as const).chain((table) =>
    fc.record({
      table: fc.constant(table),
      by: roles,
      conditions: fc.array(conditionOf(table), { minLength: 1, maxLength: 4 }),
      embed: fc.constantFrom(...(table === "submissions" ? embeds : (["none"] as const))),
      comment: conditionOf("comments"),
      order: fc.constantFrom(`${columns[table][0].name}.desc`, "created_at.asc.nullsfirst", "id.desc"),
      limit: fc.integer({ min: 1, max: 40 }),
      offset: fc.integer({ min: 0, max: 5 }),
    }),
  );

  test("1,600 requests with filters, orders, embedded rows and ranges", async () => {
    const one = async ({
      table,
      by,
      conditions,
      embed,
      comment,
      order,
      limit,
      offset,
    }: Value<typeof read>) => {
      const embedded = embed === "none" ? "" : `,comments${embed === "inner" ? "!inner" : ""}(body)`;
      const [name, value] = parameter(comment);
      const path = `${table}?${query([
        ["select", `id${embedded}`],
        ["organization_id", `eq.${organization.id}`],
        ...conditions.map((condition) => parameter(condition)),
        ...(embed === "none"
          ? []
          : ([
              [`comments.${name}`, value],
              ["comments.order", "id"],
            ] as [string, string][])),
        ["order", `${order},id`],
        ["limit", String(limit)],
        ["offset", String(offset)],
      ])}`;
      const comments = `select c.body from comments t join lateral (select t.body) c on true
        where t.submission_id = outer_t.id and ${where("comments", comment)} order by t.id`;
      const statement = `
        select outer_t.id ${embed === "none" ? "" : `, (select coalesce(json_agg(json_build_object('body', c.body)), '[]') from (${comments}) c) as comments`}
        from (select t.* from ${table} t where t.organization_id = '${organization.id}'
          and ${conditions.map((condition) => where(table, condition)).join(" and ")}) outer_t
        ${embed === "inner" ? `where exists (${comments})` : ""}
        order by ${order.replaceAll(".", " ").replace("nullsfirst", "nulls first")}, id limit ${limit} offset ${offset}`;
      const [answer, rows] = await Promise.all([rest(path, { token: token(by) }), expected(by, statement)]);
      expectSame(answer, rows, `${by} ${path}`);
    };
    await fc.assert(
      fc.asyncProperty(fc.array(read, { minLength: 8, maxLength: 8 }), async (reads) => {
        await Promise.all(reads.map(one));
      }),
      { numRuns: 200, endOnFailure: true },
    );
  });
});

describe("a write changes what the same statement changes", () => {
  const write = fc.record({
    by: roles,
    method: fc.constantFrom("PATCH" as const, "DELETE" as const),
    conditions: fc.array(conditionOf("surveys"), { minLength: 1, maxLength: 4 }),
  });

  test("400 updates and deletes", async () => {
    const own = `t.organization_id = '${organization.id}'`;
    let last = 0;
    await fc.assert(
      fc.asyncProperty(write, async ({ by, method, conditions }) => {
        await sql`
          insert into surveys (organization_id, title, description)
          select ${organization.id}, title, title from unnest(${texts}::text[]) as of(title)
          where not exists (select from surveys s where s.organization_id = ${organization.id} and s.title = of.title)`;
        const before = await sql<{ id: string }[]>`
          select id from surveys where organization_id = ${organization.id} order by id`;
        const description = `Changed ${++last}`;
        const matching = `${own} and ${conditions.map((condition) => where("surveys", condition)).join(" and ")} returning t.id`;
        const changed = await expected(
          by,
          method === "DELETE"
            ? `delete from surveys t where ${matching}`
            : `update surveys t set description = '${description}' where ${matching}`,
        );
        const path = `surveys?${query([
          ["organization_id", `eq.${organization.id}`],
          ...conditions.map((condition) => parameter(condition)),
        ])}`;
        const answer = await rest(path, {
          method,
          token: token(by),
          ...(method === "PATCH" && { body: { description } }),
        });
        const untouched = await sql<{ id: string }[]>`
          select id from surveys where organization_id = ${organization.id} and description <> ${description}`;
        const left = new Set(untouched.map(({ id }) => id));
        const ids = before.map(({ id }) => id).filter((id) => !left.has(id));
        const expectedIds =
          typeof changed === "string" ? [] : changed.map((row) => (row as { id: string }).id).toSorted();
        expect(
          [answer.code, ids],
          `${by} ${method} ${path}\n${answer.status} ${answer.text.slice(0, 300)}`,
        ).toEqual([typeof changed === "string" ? changed : null, expectedIds]);
      }),
      { numRuns: 400, endOnFailure: true },
    );
  });
});
