import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Pipeline, type Rows } from "../../functions/_shared/database/pipeline.ts";
import { type Query, type Sql, sql } from "../../functions/_shared/database/query.ts";
import { stack } from "../stack.ts";

// The functions' implementation of the Postgres protocol, against Postgres.

type Row = Record<string, unknown>;
let login: postgres.Sql;
let socket: Socket;

beforeAll(async () => {
  const url = new URL(stack.db_url);
  socket = createConnection({ host: url.hostname, port: Number(url.port) });
  await once(socket, "connect");
  login = postgres(stack.db_url, { max: 1, fetch_types: false, socket: () => socket } as object);
  await login`select 1`.simple();
  socket.removeAllListeners("data");
});
afterAll(() => login.end({ timeout: 0 }));

describe.each([
  ["prepared", true],
  ["without prepared statements", false],
])("%s", (_, prepares) => {
  let pipeline: Pipeline;
  beforeAll(() => {
    socket.removeAllListeners("data");
    pipeline = new Pipeline(socket, prepares);
  });
  const run = async (...queries: ((sql: Sql) => unknown)[]) => {
    const results = (await pipeline.run(queries.map((make) => make(sql) as Query))) as Rows<Row>[];
    return results.map((rows) => [...rows]);
  };

  test.each([
    ["text", 'it\'s "quoted" $1 \\ ü 😀'],
    ["text[]", ['a"b', "c\\d", "e,f", "{g}", "", "NULL", null, " h "]],
    ["text[]", []],
    ["integer", 42],
    ["bigint", 9007199254740991],
    ["boolean", false],
    ["bytea", Buffer.from([0, 255, 92, 39])],
    ["uuid[]", ["c1ed0af0-1403-42c9-8a11-a9c65a8090d5"]],
    ["text", null],
    ["text", "x".repeat(300_000)],
  ])("a value of type %s is returned unchanged", async (type, value) => {
    for (let time = 0; time < 2; time++) {
      const [[row] = []] = await run((sql) => sql`select ${value as string}::${sql.unsafe(type)} as value`);
      expect(row?.value).toEqual(value);
    }
  });

  test("names are quoted, fragments nest, and an object sets its columns", async () => {
    const part = (sql: Sql) => sql`${1}::int + ${2}::int`;
    const [, , [row] = []] = await run(
      (sql) => sql`create temporary table pg_temp.t as select 0 as "odd""name", '' as b`,
      (sql) => sql`update pg_temp.t set ${sql({ 'odd"name': 5, b: "six" })}`,
      (sql) => sql`select ${part(sql)} as sum, ${sql('odd"name')} as first, b from pg_temp.t`,
      (sql) => sql`drop table pg_temp.t`,
    );
    expect(row).toEqual({ sum: 3, first: 5, b: "six" });
  });

  test("a value that Postgres cannot store is an error, and nothing is sent", async () => {
    await expect(run((sql) => sql`select ${{} as string}`)).rejects.toThrow(TypeError);
    await expect(run((sql) => sql`select ${undefined as never}`)).rejects.toThrow(TypeError);
    expect((await run((sql) => sql`select 1 as one`))[0]).toEqual([{ one: 1 }]);
  });

  test("a batch is atomic, statements after an error do not run, and the next batch does", async () => {
    const counted = async () =>
      (
        await run(
          (sql) => sql`select count(*) as rows from private.stopped_account_mail where address_hash like 'pipeline %'`,
        )
      )[0]?.[0]?.rows;
    const insert = (name: string) => (sql: Sql) =>
      sql`insert into private.stopped_account_mail (address_hash) values (${`pipeline ${name}`})`;
    const failed = run(insert("a"), (sql) => sql`select 1 / ${0}::int`, insert("b"));
    const queued = run((sql) => sql`select ${"next"} as batch`);
    await expect(failed).rejects.toMatchObject({ code: "22012" });
    await expect(failed).rejects.toBeInstanceOf(postgres.PostgresError);
    expect((await queued)[0]).toEqual([{ batch: "next" }]);
    expect(await counted()).toBe(0);
    await run(insert("a"), insert("b"));
    expect(await counted()).toBe(2);
    await run((sql) => sql`delete from private.stopped_account_mail where address_hash like 'pipeline %'`);
  });

  test("an error at commit fails the batch", async () => {
    await run(
      (sql) => sql`create temporary table pg_temp.p (id int primary key)`,
      (sql) => sql`create temporary table pg_temp.c (id int references pg_temp.p deferrable initially deferred)`,
    );
    const late = run(
      (sql) => sql`insert into pg_temp.c values (1)`,
      (sql) => sql`select 1 as done`,
    );
    await expect(late).rejects.toMatchObject({ code: "23503" });
    expect((await run((sql) => sql`select count(*) as rows from pg_temp.c`))[0]).toEqual([{ rows: 0 }]);
    await run((sql) => sql`drop table pg_temp.c, pg_temp.p`);
  });

  test("a statement whose result type changed is prepared again; within a transaction it fails once", async () => {
    const read = (sql: Sql) => sql`select * from pg_temp.changing`;
    await run((sql) => sql`create temporary table pg_temp.changing as select 1 as a`);
    expect(await run(read)).toEqual([[{ a: 1 }]]);
    await run((sql) => sql`alter table pg_temp.changing add b int default 2`);
    const write = (sql: Sql) => sql`insert into pg_temp.changing values (2, 3)`;
    expect((await run(write, read))[1]).toEqual([
      { a: 1, b: 2 },
      { a: 2, b: 3 },
    ]);

    await run((sql) => sql`alter table pg_temp.changing drop b`);
    await run((sql) => sql`begin`);
    const inTransaction = run(read);
    if (prepares) await expect(inTransaction).rejects.toMatchObject({ code: "0A000" });
    else await inTransaction;
    await run((sql) => sql`rollback`);
    expect(await run(read)).toEqual([[{ a: 1 }, { a: 2 }]]);
    await run((sql) => sql`drop table pg_temp.changing`);
  });
});
