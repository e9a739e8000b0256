import type { TransactionSql } from "postgres";
import { expect, test } from "vitest";
import { newOrganization, newUser } from "../api/world.ts";
import fc, { runs } from "../fuzz.ts";
import { sql } from "../stack.ts";
import { type RestCall, rest } from "./rest.ts";

// Random requests to the data API, each against the same statement in SQL with the same role: no filter is ever
// dropped, whatever its text.

const organization = await newOrganization();
const ofOrganization = `t.organization_id = '${organization.id}'`;
const [user, admin] = await Promise.all([newUser(), newUser("Admin", { organization, role: "admin" })]);
const caller = fc.constantFrom(
  { role: "anon", id: undefined, token: undefined },
  { role: "authenticated", ...user },
  { role: "authenticated", ...admin },
);
type Value<A> = A extends fc.Arbitrary<infer V> ? V : never;

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
const author_id = (await newUser()).id;
const translations = [{}, { de: '5" Rohr' }, { de: "Export", fr: "a,b" }, { "pt-BR": "{x}" }];

await sql`
  insert into submissions (organization_id, author_id, title, description, type, moderation_state)
  select ${organization.id}, ${author_id}, title, title || ' with twenty characters', (array['idea', 'problem'])[1 + n % 2],
    (array['approved', 'approved', 'pending'])[1 + n % 3]
  from unnest(${texts.map((text) => text.padEnd(5, "."))}::text[]) with ordinality as of(title, n), generate_series(1, 3)`;
await sql`
  insert into comments (submission_id, author_id, body)
  select s.id, ${author_id}, body from submissions s, unnest(${texts}::text[]) with ordinality as of(body, n)
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

const operators: Record<string, string> = {
  ...{ eq: "=", neq: "<>", gt: ">", gte: ">=", lt: "<", lte: "<=", in: "in", is: "is" },
  ...{ like: "like", ilike: "ilike", match: "~", imatch: "~*", cs: "@>", cd: "<@" },
};
/** Name, values, operators, and Postgres's type of the values. */
type Column = [name: string, values: readonly string[], operators: string, type: string];
const textual = (name: string, values: readonly string[]): Column => {
  const patterns = values.map((text) => `*${text.slice(1, -1)}*`);
  return [name, [...values, ...patterns, "", "*"], "eq neq gt lte like ilike in is", "text"];
};
const integers = ["0", "1", "2", "3", "4", "-1", "x"];
const numeric = (name: string): Column => [name, integers, "eq neq gt gte lt lte in is", "int"];
const columns: Record<string, Column[]> = {
  submissions: [
    textual("title", texts),
    textual(
      "description",
      texts.map((text) => `${text} with twenty characters`),
    ),
    textual("type", ["idea", "problem"]),
    textual("tracker_issue_url", texts),
    numeric("comment_count"),
  ],
  comments: [textual("body", texts), numeric("vote_count")],
  tags: [
    textual("name", texts),
    ["slug", ["^tag-1", "(1|2)$", '[(,"]|0', "\\d{2}"], "match imatch", "text"],
    ["translations", translations.map((of) => JSON.stringify(of)), "cs cd eq", "jsonb"],
    textual("translations->>de", ['5" Rohr', "Export", "a,b"]),
  ],
  surveys: [textual("title", texts), textual("description", texts)],
};

/** A condition in three forms: as a query parameter, as an item in a list of conditions, and in SQL. */
interface Condition {
  parameter: string;
  item: string;
  where: string;
}

/** The documented form of a value inside of a list: quoted, with `\` before quotes and backslashes. */
const quoted = (value: string) => `"${value.replace(/["\\]/g, "\\$&")}"`;

const parameter = (name: string, value: string) => new URLSearchParams({ [name]: value }).toString();

const { constantFrom, array } = fc;
const not = constantFrom("", "not");

function conditionsOf(table: string): fc.Arbitrary<Condition[]> {
  const one = constantFrom(...(columns[table] ?? [])).chain(([name, values, allowed, type]) => {
    const operator = constantFrom(...allowed.split(" "));
    const listed = array(constantFrom(...values), { minLength: 1, maxLength: 3 });
    return fc.record({ not, operator, listed }).map(({ not, operator, listed }): Condition => {
      const [first = ""] = listed;
      const literal = (text: string) => `'${text.replaceAll("'", "''")}'::${type}`;
      // PostgREST reads in.("") as an empty list.
      const literals = `(${listed.join() ? listed.map(literal) : "select null limit 0"})`;
      const [plain, item, inSql] = {
        is: ["null", "null", "null"],
        in: [`(${listed.map(quoted)})`, `(${listed.map(quoted)})`, literals],
      }[operator] ?? [first, quoted(first), literal(/like$/.test(operator) ? first.replaceAll("*", "%") : first)];
      const column = name === "translations->>de" ? "(t.translations ->> 'de')" : `t.${name}`;
      const start = `${not && "not."}${operator}.`;
      return {
        parameter: parameter(name, start + plain),
        item: `${name}.${start}${item}`,
        where: `${not} (${column} ${operators[operator]} ${inSql})`,
      };
    });
  });
  const { condition } = fc.letrec<{ condition: Condition }>((tie) => {
    const inner = array(tie("condition"), { minLength: 1, maxLength: 3 });
    const several = fc
      .record({ not, operator: constantFrom("and", "or"), inner })
      .map(({ not, operator, inner }): Condition => {
        const [name, list] = [`${not && "not."}${operator}`, `(${inner.map(({ item }) => item)})`];
        const where = `${not} (${inner.map((of) => of.where).join(` ${operator} `)})`;
        return { parameter: parameter(name, list), item: name + list, where };
      });
    const [single, group] = [
      { weight: 3, arbitrary: one },
      { weight: 1, arbitrary: several },
    ];
    return { condition: fc.oneof({ maxDepth: 2, withCrossShrink: true }, single, group) };
  });
  return array(condition, { minLength: 1, maxLength: 4 });
}

const pathOf = (table: string, conditions: Condition[], more = "") =>
  `${table}?organization_id=eq.${organization.id}${conditions.map((of) => `&${of.parameter}`).join("")}${more}`;
const whereOf = (conditions: Condition[]) => conditions.map(({ where }) => where).join(" and ");

const state = `select id, title, description from surveys t where ${ofOrganization} order by id`;

/**
 * Expects that a request has the same result as a statement by the same person, which is rolled back: the code of its
 * error, its rows, and the rows that a write leaves.
 */
async function compare(by: Value<typeof caller>, path: string, statement: string, write?: RestCall) {
  const claims = JSON.stringify({ sub: by.id, role: by.role });
  const undo = new Error("undo");
  let expected: unknown[] = [];
  const run = async (transaction: TransactionSql) => {
    await transaction`select set_config('request.jwt.claims', ${claims}, true), set_config('role', ${by.role}, true)`;
    const rows = await transaction.unsafe(statement);
    await transaction`reset role`;
    expected = [null, write ? await transaction.unsafe(state) : [...rows]];
    throw undo;
  };
  await sql.begin(run).catch(async (error) => {
    if (error !== undo) expected = [error.code, write ? await sql.unsafe(state) : []];
  });
  const { code, rows, text } = await rest(path, { token: by.token, ...write });
  const actual = [code, write ? await sql.unsafe(state) : rows];
  expect(actual, `${by.role} ${path}\n${text.slice(0, 300)}`).toEqual(expected);
}

test("reads with filters, orders, embedded rows and ranges return what the same statements return", async () => {
  const embeds = { submissions: ["", "comments", "comments!inner"], tags: [""] };
  const orders = { submissions: "title.desc", tags: "name.desc" };
  const read = constantFrom("submissions" as const, "tags" as const).chain((table) =>
    fc.record({
      table: fc.constant(table),
      by: caller,
      conditions: conditionsOf(table),
      embed: constantFrom(...embeds[table]),
      ofComments: conditionsOf("comments"),
      order: constantFrom(orders[table], "created_at.asc.nullsfirst", "id.desc"),
      limit: fc.integer({ min: 1, max: 40 }),
      offset: fc.integer({ min: 0, max: 5 }),
    }),
  );
  const one = ({ table, by, conditions, embed, ofComments, order, limit, offset }: Value<typeof read>) => {
    const embedded = `,${embed}(body)${ofComments.map((of) => `&comments.${of.parameter}`).join("")}&comments.order=id`;
    const more = `&select=id${embed && embedded}&order=${order},id&limit=${limit}&offset=${offset}`;
    const comments = `select t.body from comments t where t.submission_id = of.id and ${whereOf(ofComments)} order by t.id`;
    const statement = `
      select id ${embed && `, (select coalesce(json_agg(json_build_object('body', c.body)), '[]') from (${comments}) c) as comments`}
      from (select t.* from ${table} t where ${ofOrganization} and ${whereOf(conditions)}) as of
      ${embed === "comments!inner" ? `where exists (${comments})` : ""}
      order by ${order.replaceAll(".", " ").replace("nullsfirst", "nulls first")}, id limit ${limit} offset ${offset}`;
    return compare(by, pathOf(table, conditions, more), statement);
  };
  const reads = fc.asyncProperty(array(read, { minLength: 8, maxLength: 8 }), async (some) => {
    await Promise.all(some.map(one));
  });
  await fc.assert(reads, { numRuns: runs(200), endOnFailure: true });
});

test("updates and deletes change what the same statements change", async () => {
  let last = 0;
  const write = fc.record({
    by: caller,
    method: constantFrom("PATCH" as const, "DELETE" as const),
    conditions: conditionsOf("surveys"),
  });
  const writes = fc.asyncProperty(write, async ({ by, method, conditions }) => {
    await sql`
      insert into surveys (organization_id, title, description)
      select ${organization.id}, title, title from unnest(${texts}::text[]) as of(title)
      where not exists (select from surveys s where s.organization_id = ${organization.id} and s.title = of.title)`;
    const body = { description: `Changed ${++last}` };
    const changes = {
      DELETE: "delete from surveys t",
      PATCH: `update surveys t set description = '${body.description}'`,
    };
    const statement = `${changes[method]} where ${ofOrganization} and ${whereOf(conditions)}`;
    await compare(by, pathOf("surveys", conditions), statement, method === "PATCH" ? { method, body } : { method });
  });
  await fc.assert(writes, { numRuns: runs(400), endOnFailure: true });
});
