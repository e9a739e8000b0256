import { describe, expect, test } from "vitest";
import { columnFacts } from "../../shared/import-fields.ts";
import { importAnswer } from "../../shared/imports.ts";
import { sql } from "../stack.ts";
import { api, type Caller, expectError, expectJson } from "./client.ts";
import { endOf, importFrom, newBoard } from "./imports.ts";
import { longEnough } from "./world.ts";

// What an import says about the columns of a file, and how they are mapped.

const csv = "text/csv";
const json = "application/json";
const lines = "application/x-ndjson";
const utf16 = (text: string, isBig = false) => {
  const bytes = Buffer.from(`\uFEFF${text}`, "utf16le");
  return isBig ? bytes.swap16() : bytes;
};
const query = (columns: Record<string, string | null>, more: Record<string, string> = {}) =>
  `?${new URLSearchParams({ dry_run: "true", columns: JSON.stringify(columns), ...more })}`;
const board = await newBoard();
const checked = (raw: string | Buffer, more = "", type = csv) =>
  importFrom(board.key, raw, more.includes("dry_run") ? more : `?dry_run=true${more}`, type);
const d = longEnough;
const fine = { state: "completed", created: 1, failed: 0 };

describe("names the columns without use and the fields without a column:", () => {
  const canny = "&format=canny";
  test.each([
    ["of a tracker", `id\ttitle\tcreated\tidea\n7\tA title\t2009-05-20\t${d}`, canny, ["idea"], ["description"]],
    [
      "with its capitals",
      `Title,Body text,State of work\nA title,${d},x`,
      canny,
      ["Body text", "State of work"],
      ["description"],
    ],
    ["of our own", `title,description,labels,owner\nA title,${d},x,y`, "", ["labels", "owner"], []],
    ["in Japanese", `title,description,内部メモ\nA title,${d},x`, "", ["内部メモ"], []],
    [
      "with names of objects",
      `title,description,constructor,__proto__\nA title,${d},x,y`,
      "",
      ["constructor", "__proto__"],
      [],
    ],
    ["without a name, if it has a value", `title,description,,\nA title,${d},x,`, "", ["column 3"], []],
    ["of another name for a field", `Title,Name,Details\nA title,x,${d}`, canny, ["Name"], []],
    ["with a number of votes", `Title,Details,Votes\nA title,${d},5`, canny, ["Votes"], []],
    ["that repeat", `title,description,Watchers,Watchers\nA title,${d},x,y`, "", ["Watchers"], []],
    ["over two lines", `"Your\nnotes",title,description\nx,A title,${d}`, "", ["Your notes"], []],
  ])("%s", async (_, file, more, unused, missing) => {
    expect(await checked(file, more)).toMatchObject({ ...fine, columns: { unused, missing, mapped: {} } });
  });

  test.each([
    [{ title: "A title", description: d, owner: "x", "Body text": "y", none: null }, "", ["owner", "Body text"], []],
    [{ title: "A title", Body: d, details: d, mood: { a: 1 } }, canny, ["Body", "mood"], []],
    [{ title: "A title", text: d }, canny, ["text"], ["description"]],
    [{ title: "A title", description: d, "a\u0000b": 1 }, "", ["ab"], []],
    [
      { title: "A title", description: d, constructor: 1, toString: 2, kind: null },
      "",
      ["constructor", "toString"],
      [],
    ],
  ])("of JSON %#", async (record, more, unused, missing) => {
    for (const [type, file] of [
      [json, JSON.stringify([record])],
      [lines, JSON.stringify(record)],
    ] as const)
      expect(await checked(file, more, type)).toMatchObject({ ...fine, columns: { unused, missing } });
  });

  test("also after a crash", () => {
    const before = columnFacts();
    before.column("owner", false);
    before.column("post", false);
    before.field("title", false);
    const after = columnFacts(before.stored());
    after.column("post", true);
    after.field("title", true);
    expect(after.stored()).toEqual({ used: ["post"], unused: ["owner"], given: ["title"], missing: [] });
  });

  test("at most 100, of at most 100 characters", async () => {
    const names = Array.from({ length: 500 }, (_, n) => [`${n} ${"x".repeat(300)}`, n]);
    const { columns } = await checked(JSON.stringify([Object.fromEntries(names)]), "", json);
    expect(columns.unused).toHaveLength(100);
    expect(new Set(columns.unused.map((name) => name.length))).toEqual(new Set([100]));
  });
});

describe("an import fails before it writes for", () => {
  test.each([
    [
      "a header in another language",
      `Titel;Beschreibung\nA title;${d}`,
      "line 1 has no column for title or description",
    ],
    ["no header", `7,A title,${d}\n8,Another,${d}`, "line 1 looks like data"],
    ["no header, with an address", `A title,ann@x.example\nAnother,bob@x.example`, "line 1 looks like data"],
    [
      "two titles",
      `\n\nTitle,title ,description\nA title,Another,${d}`,
      'line 3 has the columns "Title" and "title" for title',
    ],
    ["two times", `title,description,createdAt,created_at\nA title,${d},,`, '"createdAt" and "created_at"'],
    ["an empty file", "", "is empty"],
    ["a byte order mark", "\uFEFF", "is empty"],
    ["blank lines", "\n \n,,\n", "is empty"],
    ["a header only", "title,description\n", "has a header, but no records"],
    ["a header only, without an end", "sep=;\ntitle;description", "has a header, but no records"],
    [
      "UTF-16 without a byte order mark",
      utf16(`title,description\nA title,${d}`).subarray(2),
      "save the file in UTF-8",
    ],
    ["empty JSON", "", "is empty", json],
    ["an empty array", "[]", "is empty", json],
    ["empty lines of JSON", "\n\n", "is empty", lines],
  ])("%s", async (_, file, problem, type = csv) => {
    expect(await importFrom(board.key, file, "", type)).toMatchObject({
      state: "failed",
      processed: 0,
      problem: expect.stringContaining(problem),
    });
  });

  test("a first line of data, whose values are not stored as names", async () => {
    const { columns } = await checked(`Ann,ann@x.example\nBob,bob@x.example`);
    expect(columns.unused).toEqual([]);
  });
});

describe("a file of a spreadsheet is read:", () => {
  const two = `A title;${d}\r\n`;
  test.each([
    ["sep=;", `sep=;\r\ntitle;description\r\n${two}`],
    ["SEP=, quoted, after a byte order mark", `\uFEFF"SEP=|"\r\ntitle|description\r\n${two.replace(";", "|")}`],
    ["sep= with a tab", `sep=\t\ntitle\tdescription\n${two.replace(";", "\t")}`],
    ["sep= with another character", `sep=^\ntitle^description\n${two.replace(";", "^")}`],
    ["sep= and cells after it", `sep=,,\ntitle,description,\nA title,${d},`],
    ["pipes", `title|description\nA title|${d}`],
    ["delimiters within a quoted name", `"a;b;c;d",title,description\nx,A title,${d}`],
    ["a quote within a name", `5" size,title,description\nx,A title,${d}`],
    ["cleared rows", `title;description;x\r\n${two};;\r\n ; ;\r\n\u00A0;;\r\n`],
    ["UTF-16, little", utf16(`title\tdescription\r\nA title\t${d}`)],
    ["UTF-16, big", utf16(`title\tdescription\r\nÄ title\t${d}`, true)],
  ])("%s", async (_, file) => {
    expect(await checked(file)).toMatchObject(fine);
  });

  test("lines are numbered as an editor does", async () => {
    const file = `\r\n,\r\ntitle,description\r\n\r\nA title,"${d}\r\nand\r\nmore"\r\n,\r\nHm,${d}\r\n`;
    expect((await checked(file)).errors).toMatchObject([{ line: 9, field: "title" }]);
  });
});

describe("columns of tags are joined:", () => {
  test.each([
    ["feedback", `title,description,tags,tags,Tags\nA title,${d},a,"b,c",`, csv, ["a", "b", "c"]],
    ["canny", `Title,Details,Labels,Tags,Labels\nA title,${d},a,b,c`, csv, ["a", "b", "c"]],
    ["canny", JSON.stringify([{ title: "A title", tags: [{ name: "a" }], labels: "b,c" }]), json, ["a", "b", "c"]],
  ])("%s %#", async (format, file, type, tags) => {
    const { key, organization } = await newBoard();
    await importFrom(key, file, `?format=${format}`, type);
    const stored = await sql`select slug from public.tags where organization_id = ${organization.id} order by slug`;
    expect(stored.map(({ slug }) => slug)).toEqual(tags);
  });
});

describe("a mapping", () => {
  const file = `Feature name;Body text;State;Internal\nA title;${d};planned;x`;
  const apply = async (as: Caller, id: string, more: string) =>
    endOf(
      as,
      expectJson(await api("POST", `/api/admin/imports/${id}/apply${more}`, { as }), 202, importAnswer).data.id,
    );

  test("is tried with the stored file of a failed check, and imported", async () => {
    const { key, organization } = await newBoard();
    const first = await importFrom(key, file, "?dry_run=true", csv);
    expect(first).toMatchObject({ state: "failed", can_check: true, can_apply: false });
    expect(first.columns.unused).toEqual(["Feature name", "Body text", "State", "Internal"]);
    expectError(await api("POST", `/api/admin/imports/${first.id}/apply`, { as: key }), "CONFLICT");
    const second = await apply(
      key,
      first.id,
      query({ "Feature name": "title", "Body text": "description", Internal: null }),
    );
    expect(second).toMatchObject({ ...fine, dry_run: true, columns: { unused: ["State"], missing: [] } });
    const third = await apply(key, second.id, "");
    expect(third).toMatchObject({ ...fine, dry_run: false, columns: { mapped: { "Body text": "description" } } });
    const stored =
      await sql`select title, description from public.submissions where organization_id = ${organization.id}`;
    expect(stored).toMatchObject([{ title: "A title", description: d }]);
  });

  test("keeps the stored file too when only the order of dates is told", async () => {
    const { key } = await newBoard();
    const first = await importFrom(key, `title,description,created_at\nA title,${d},06/05/2024`, "?dry_run=true", csv);
    expect(first).toMatchObject({ failed: 1, errors: [{ line: 2, field: "created_at" }], can_check: true });
    const second = await apply(key, first.id, "?dates=day_first&dry_run=true");
    expect(second).toMatchObject({ ...fine, dry_run: true });
    expect(await apply(key, second.id, "")).toMatchObject({ ...fine, dry_run: false });
  });

  test.each([
    ["two columns of tags", `title,description,Area,Team\nA title,${d},a,b`, { Area: "tags", Team: "tags" }, []],
    [
      "two columns for each other",
      `title,description\n${d},A title`,
      { title: "description", description: "title" },
      [],
    ],
    [
      "a column in place of one with the field's name",
      `title,description,Text\nA title,x,${d}`,
      { Text: "description" },
      ["description"],
    ],
    ["a column without a name", `title,description,\nA title,${d},planned`, { "column 3": "status" }, []],
    ["one of two titles away", `Title,title,description\nA title,x,${d}`, { title: null }, []],
  ])("maps %s", async (_, file, columns, unused) => {
    expect(await checked(file, query(columns))).toMatchObject({ ...fine, columns: { unused } });
  });

  test("maps fields of JSON", async () => {
    const file = JSON.stringify([{ Name: "A title", text: d, comments: [{ body: "Yes" }] }]);
    const done = await checked(file, query({ Name: "title", text: "description" }), json);
    expect(done).toMatchObject({ created: 2, columns: { unused: [] } });
  });

  test("of a column that the file does not have fails", async () => {
    const text = { state: "failed", problem: expect.stringContaining('"Nope"') };
    expect(await checked(file, query({ Nope: "description" }))).toMatchObject(text);
    const record = JSON.stringify([{ title: "A title", description: d }]);
    expect(await checked(record, query({ Nope: "status" }), json)).toMatchObject(text);
  });

  test.each([
    ["x=y", "JSON object"],
    ["[1]", "JSON object"],
    ['{"Body text":"nonsense"}', '"Body text" to "nonsense"'],
    ['{"Body text":"constructor"}', '"Body text" to "constructor"'],
    ['{"Body text":"title","State":"title"}', '"Body text" and "State" to title'],
    [JSON.stringify(Object.fromEntries(Array.from({ length: 101 }, (_, n) => [n, null]))), "100 columns"],
  ])("%s is refused", async (columns, message) => {
    const to = `/api/admin/import?${new URLSearchParams({ columns })}`;
    const answer = await api("POST", to, { as: board.key, raw: file, headers: { "content-type": csv } });
    expect(expectError(answer, "VALIDATION_ERROR", "columns").details).toMatchObject([
      { field: "columns", message: expect.stringContaining(message) },
    ]);
  });
});
