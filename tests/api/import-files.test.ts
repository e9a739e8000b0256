import { parse } from "csv-parse/sync";
import { describe, expect, test } from "vitest";
import { csvLine } from "../../functions/_shared/files/csv.ts";
import { chunksOf } from "../../functions/_shared/files/import/chunks.ts";
import { type FileType, rowsOf } from "../../functions/_shared/files/import/rows.ts";
import { importQuery } from "../../shared/imports.ts";
import { submissionStatuses } from "../../shared/submissions.ts";

// The records of a file, before any of them reaches the database.

/** In chunks of three bytes, so that no chunk ends at a convenient place. */
async function* pieces(file: string | Uint8Array): AsyncGenerator<Uint8Array> {
  const bytes = typeof file === "string" ? new TextEncoder().encode(file) : file;
  for (let i = 0; i < bytes.length; i += 3) yield bytes.subarray(i, i + 3);
}

async function read(file: string | Uint8Array, type: FileType) {
  const rows = [];
  for await (const row of rowsOf(pieces(file), type))
    rows.push("values" in row ? [row.line, row.values] : [row.line, row.message]);
  return rows;
}

async function entries(file: string, type: FileType, query: Record<string, string> = {}) {
  const accepted: Record<string, unknown>[] = [];
  const rejected: unknown[] = [];
  for await (const chunk of chunksOf(rowsOf(pieces(file), type), importQuery.parse(query))) {
    accepted.push(...chunk.entries.map(({ kind, fields }) => ({ kind, ...fields })));
    rejected.push(...chunk.refused);
  }
  return { taken: accepted, refused: rejected };
}

describe("CSV", () => {
  const ab = [
    [2, { a: "1", b: "x" }],
    [3, { a: "2", b: "y" }],
  ];
  test.each([
    ["with line feeds", "a,b\n1,x\n2,y\n", ab],
    ["with carriage returns and line feeds, and no end of line at the end", "a,b\r\n1,x\r\n2,y", ab],
    ["with a byte order mark", "\uFEFFa,b\n1,x\n2,y\n", ab],
    ["with semicolons", "a;b\n1;x\n2;y\n", ab],
    ["with tabs", "a\tb\n1\tx\n2\ty\n", ab],
    ["with names written otherwise", "A, b \n1,x\n2,y\n", ab],
    ["with empty lines", "a,b\n1,x\n\n", [ab[0]]],
    ["with nothing in it", "", []],
    [
      "with quotes, commas and lines in a cell",
      'a,b\n1,"x, ""y""\nz"\n2,y\n',
      [
        [2, { a: "1", b: 'x, "y"\nz' }],
        [4, ab[1]?.[1]],
      ],
    ],
    ["with a quote in the middle of a cell", 'a,b\n1,5" wide\n', [[2, { a: "1", b: '5" wide' }]]],
    ["with fewer cells than names", "a,b\n1\n", [[2, { a: "1" }]]],
    ["with more cells than names", "a,b\n1,x,z\n2,y\n", [[2, "has 3 cells, but the first line has 2"], ab[1]]],
    ["with a guarded formula", "a,b\n1,'=1+1\n", [[2, { a: "1", b: "=1+1" }]]],
  ])("%s", async (_, file, rows) => {
    expect(await read(file, "csv")).toEqual(rows);
  });

  test.each([
    ["an unclosed quote", 'a,b\n1,x\n2,"y\n3,z\n', "an unclosed quote or a record of more than 1 MiB at line 3"],
    ["a record without end", `a,b\n1,x\n2,"${"y\n".repeat(600_000)}`, "at line 3"],
    ["bytes that are not UTF-8", new Uint8Array([97, 44, 98, 10, 49, 44, 0xe4, 10]), "is not valid UTF-8"],
    ["UTF-16", new Uint8Array([0xff, 0xfe, 97, 0, 44, 0, 98, 0, 10, 0]), "is not valid UTF-8"],
  ])("fails for %s", async (_, file, message) => {
    await expect(read(file, "csv")).rejects.toMatchObject({
      code: "VALIDATION_ERROR",
      details: [{ field: "body", message: expect.stringContaining(message) }],
    });
  });
});

describe("a cell", () => {
  test.each([
    "=1+1",
    "+49 30",
    "-1",
    "@sum",
    "\tx",
    "＝1",
    "'=1",
    "''=1",
    "'plain",
    "plain",
    'a "b", c\nd',
    " x ",
    "Dark mode;=1+1;thanks",
    'Dark mode;"=1+1&"',
    "Dark mode; '=1+1",
    "tab\t=1\t'+1\t''-1",
    "lines\r\n- one\n@two\r＝3\n\n'plain",
    "\t=1",
    ";;=1;",
    '"=1',
    '";=1',
  ])("%j is exported and imported unchanged, and is never a formula in the file", async (cell) => {
    for (const cells of [
      ["1", cell],
      [cell, "1"],
      [cell, cell],
    ]) {
      const line = csvLine(cells);
      expect(line).not.toMatch(/^"1","?[=+\-@\t＝]/);
      for (const delimiter of [",", ";", "\t"]) {
        const options = { delimiter, relax_quotes: true, relax_column_count: true };
        for (const read of parse(`${line}${line}"end"`, options).flat()) expect(read).not.toMatch(/^\s*[=+\-@＝]/);
      }
      expect(await read(`a,b\n${line}`, "csv")).toEqual([[2, { a: cells[0], b: cells[1] }]]);
    }
  });
});

describe("JSON", () => {
  const rows = [
    [1, { a: '{"[\\' }],
    [2, { a: { b: [1] } }],
  ];
  test.each([
    ["an array", "json", '[{"a":"{\\"[\\\\"},\n{"a":{"b":[1]}}]', rows],
    ["an array over several lines", "json", '[\n{"a":\n1}]', [[2, { a: 1 }]]],
    ["one object", "json", '{"a":1}', [[1, { a: 1 }]]],
    ["lines", "jsonl", '{"a":"{\\"[\\\\"}\n{"a":{"b":[1]}}\n', rows],
    [
      "lines of which one is broken",
      "jsonl",
      '{"a":1}\n{"a":\n\n[1]\n{"a":2}',
      [
        [1, { a: 1 }],
        [2, "must be a JSON object"],
        [4, "must be a JSON object"],
        [5, { a: 2 }],
      ],
    ],
  ] as const)("%s", async (_, type, file, expected) => {
    expect(await read(file, type)).toEqual(expected);
  });

  test.each([
    ["no object", "[1, 2]", "is not valid JSON at line 1"],
    ["an object without end", '[{"a":1},\n{"a":', "the object at line 2 does not end"],
    ["an object that is too long", `[{"a":"${"x".repeat(1_100_000)}"}]`, "longer than 1 MiB"],
  ])("ends where it has %s", async (_, file, message) => {
    await expect(read(file, "json")).rejects.toMatchObject({
      details: [{ message: expect.stringContaining(message) }],
    });
  });
});

describe("a record", () => {
  const good = { title: "A title", description: "A description of more than twenty." };
  test.each([
    ["a title that is too short", { ...good, title: "Hi" }, "title", "5 to 200"],
    ["NUL in it", { ...good, title: "Hello\0you" }, "title", "NUL"],
    ["half a surrogate pair", { ...good, description: `${good.description}\ud800` }, "description", "surrogate"],
    ["an unknown status", { ...good, status: "shipped" }, "status", "must be one of open"],
    ["a time to come", { ...good, created_at: "2999-01-01T00:00:00Z" }, "created_at", "in the past"],
    ["a time that is none", { ...good, created_at: "yesterday" }, "created_at", "must be a time"],
    ["a vote without a person", { kind: "vote", submission_id: "1" }, "author_email", "identifies the person"],
    ["a comment on nothing", { kind: "comment", body: "Yes" }, "submission_id", "is required"],
    ["a kind of its own", { ...good, kind: "bug" }, "kind", "must be one of submission, comment"],
    ["a kind that is no text", { ...good, kind: 5 }, "kind", "must be one of submission"],
  ])("with %s is rejected with its line number", async (_, values, field, message) => {
    const { taken: accepted, refused: rejected } = await entries(
      `{}\n${JSON.stringify(values)}\n${JSON.stringify(good)}`,
      "jsonl",
    );
    expect(rejected).toMatchObject([{ line: 1 }, { line: 2, field, message: expect.stringContaining(message) }]);
    expect(accepted).toHaveLength(1);
  });

  test.each([
    ["author_email", "x", "must be an email address"],
    ["author_name", "x".repeat(101), "must be 1 to 100 characters long"],
    ["tracker_issue_url", "javascript:alert(1)", "must be a URL"],
  ])("with a wrong %s is accepted without it, which is told", async (field, value, message) => {
    const { taken: accepted, refused: rejected } = await entries(JSON.stringify({ ...good, [field]: value }), "jsonl");
    expect(accepted).toHaveLength(1);
    expect(JSON.stringify(accepted)).not.toContain(value);
    expect(rejected).toEqual([
      { line: 1, field, message: expect.stringMatching(`^${message}.*; imported without it$`), kept: true },
    ]);
  });

  test.each([
    ["2024-05-06", "2024-05-06T00:00"],
    ["2024-5-6 7:08", "2024-05-06T07:08"],
    ["2024/05/06", "2024-05-06T00:00"],
    ["2024-05-06 10:00:00", "2024-05-06T10:00"],
    ["2024-05-06T10:00:00-15:59", "2024-05-07T01:59"],
    ["06.05.2024", "2024-05-06T00:00"],
    ["6. 5. 2024", "2024-05-06T00:00"],
    ["06.05.2024 14:30", "2024-05-06T14:30"],
    ["06.05.2024, 2:30 PM", "2024-05-06T14:30"],
    ["29.02.2024", "2024-02-29T00:00"],
    ["May 6, 2024", "2024-05-06T00:00"],
    ["6 May 2024 12:30 am", "2024-05-06T00:30"],
    ["6-May-2024", "2024-05-06T00:00"],
    ["Mon, 06 May 2024 10:00:00 GMT", "2024-05-06T10:00"],
    ["Mon May 06 2024 10:00:00 GMT+0200 (Central European Summer Time)", "2024-05-06T08:00"],
    ["06/05/2024", undefined],
    ["06-05-2024", undefined],
    ["13/05/2024", undefined],
    ["6.5.24", undefined],
    ["5/6/24", undefined],
    ["2024", undefined],
    ["May 2024", undefined],
    ["12/2024", undefined],
    ["20240506", undefined],
    ["Feature 12", undefined],
    ["Feature 12, 2024", undefined],
    ["Item 5", undefined],
    ["version 3.1", undefined],
    ["2024-02-30", undefined],
    ["2023-02-29T10:00:00Z", undefined],
    ["31.04.2024", undefined],
    ["12.13.2024", undefined],
    ["2024-05-06 24:00", undefined],
    ["2024-05-06 13:00 AM", undefined],
    ["2024-05-06T10:00:00+16:00", undefined],
    ["1715000000", undefined],
    ["1715000000000", undefined],
  ])("of the time %j is of %s in UTC, or refused", async (created_at, time) => {
    const { taken, refused } = await entries(JSON.stringify({ ...good, created_at }), "jsonl");
    const [{ created_at: read } = {}] = taken as { created_at?: string }[];
    expect(read && new Date(read).toISOString().slice(0, 16)).toBe(time);
    expect(refused).toMatchObject(time ? [] : [{ field: "created_at" }]);
  });

  test.each([
    ["06/05/2024", "2024-05-06T00:00", "2024-06-05T00:00"],
    ["6-5-2024 14:30", "2024-05-06T14:30", "2024-06-05T14:30"],
    ["13/05/2024 2:30 PM", "2024-05-13T14:30", undefined],
    ["05/13/2024", undefined, "2024-05-13T00:00"],
    ["06.05.2024", "2024-05-06T00:00", "2024-05-06T00:00"],
  ])(
    "of the time %j is of one day in a file with the day first, and of one in a file with the month first",
    async (created_at, ...times) => {
      for (const [n, dates] of ["day_first", "month_first"].entries()) {
        const { taken } = await entries(JSON.stringify({ ...good, created_at }), "jsonl", { dates });
        const [{ created_at: read } = {}] = taken as { created_at?: string }[];
        expect(read && new Date(read).toISOString().slice(0, 16)).toBe(times[n]);
      }
    },
  );

  test.each([
    ["Ann <Ann@example.com>", "ann@example.com", "Ann"],
    ['"Lee, Ann" <ann@example.com>', "ann@example.com", "Lee, Ann"],
    ["<mailto:ann@example.com>", "ann@example.com", undefined],
    ["mailto:ann@example.com?subject=Hi", "ann@example.com", undefined],
  ])("of %s is of that address", async (author_email, author, author_name) => {
    const { taken, refused } = await entries(JSON.stringify({ ...good, author_email }), "jsonl");
    expect(taken).toMatchObject([{ author, author_name }]);
    expect(refused).toEqual([]);
  });

  test("contains comments and votes, as separate records from the first comment on", async () => {
    const { taken: accepted } = await entries(
      JSON.stringify([
        {
          ...good,
          id: 7,
          votes: [{ author_email: "Ann@X.example" }],
          comments: [
            { id: "b", parent_id: "a", body: "Second", created_at: "2024-02-01" },
            { id: "a", body: "First", created_at: "2024-01-01" },
          ],
        },
      ]),
      "json",
    );
    expect(accepted).toMatchObject([
      { kind: "submission", id: "7", author: "#nobody", author_votes: false },
      { kind: "comment", id: "a", submission_id: "7", created_at: "2024-01-01T00:00:00.000Z" },
      { kind: "comment", id: "b", parent_id: "a" },
      { kind: "vote", submission_id: "7", author: "ann@x.example" },
    ]);
  });

  test("keeps its time with microsecond precision", async () => {
    const { taken: accepted } = await entries(
      JSON.stringify({ ...good, created_at: "2024-01-01T00:00:00.123456+00:00" }),
      "json",
    );
    expect(accepted).toMatchObject([{ created_at: "2024-01-01T00:00:00.123456+00:00" }]);
  });
});

describe("the export of", () => {
  test("Canny, as CSV", async () => {
    const { taken: accepted, refused: rejected } = await entries(
      [
        "Post ID,Post Title,Post Details,Status,Category,Tags,Author Name,Author Email,Created,Votes",
        'c1,Dark mode,"Please, a dark mode for the night",In Progress,Web App,"ui, night",Ann Lee,ann@x.example,2023-04-05 10:11:12,3',
        'c2,API,,complete,,,Bob,,"Jan 5, 2023",2',
      ].join("\r\n"),
      "csv",
      { format: "canny", anonymous_votes: "true", type: "problem" },
    );
    expect(rejected).toEqual([]);
    expect(accepted).toMatchObject([
      {
        kind: "submission",
        id: "c1",
        title: "Dark mode",
        status: "in_progress",
        category: "Web App",
        tags: ["ui", "night"],
        author: "ann@x.example",
        author_name: "Ann Lee",
        created_at: "2023-04-05T10:11:12.000Z",
        source: "canny",
        type: "problem",
        author_votes: true,
      },
      { kind: "vote", submission_id: "c1", author: "#voter 2" },
      { kind: "vote", submission_id: "c1", author: "#voter 3" },
      {
        kind: "submission",
        id: "c2",
        title: "Idea: API",
        description: "Imported from Canny.",
        status: "completed",
        author: "#name bob",
      },
      { kind: "vote", submission_id: "c2", author: "#voter 2" },
    ]);
  });

  test.each([
    ["Post ID,Voter Name,Voter Email,Created\np1,Bob,bob@x.example,2023-04-07T10:11:12Z", "p1"],
    [
      "Post URL,Name,Email,Created At\nhttps://x.example/p/1,Bob,bob@x.example,2023-04-07T10:11:12Z",
      "https://x.example/p/1",
    ],
  ])("Canny, as a CSV of voters %#", async (file, submission_id) => {
    const { taken: accepted, refused: rejected } = await entries(file, "csv", { format: "canny", what: "votes" });
    expect(rejected).toEqual([]);
    expect(accepted).toMatchObject([
      {
        ...{ kind: "vote", submission_id, author: "bob@x.example", author_name: "Bob" },
        created_at: "2023-04-07T10:11:12Z",
      },
    ]);
  });

  test.each(["canny", "fider"] as const)(
    "%s: every status is mapped by name, and unknown ones are reported",
    async (format) => {
      const mapped: Record<string, string> = {
        open: "open",
        "Under Review": "under_review",
        reviewing: "under_review",
        planned: "planned",
        "In Progress": "in_progress",
        started: "in_progress",
        complete: "completed",
        Completed: "completed",
        done: "completed",
        shipped: "completed",
        closed: "declined",
        declined: "declined",
        rejected: "declined",
        archived: "declined",
        duplicate: "declined",
        "Some day": "open",
      };
      const rows = [...Object.keys(mapped), undefined].map((status, id) => ({
        id,
        title: "A title of an idea",
        details: "A description that is long enough.",
        status,
      }));
      const { taken: accepted, refused: rejected } = await entries(
        rows.map((row) => JSON.stringify(row)).join("\n"),
        "jsonl",
        { format },
      );
      expect(accepted.map(({ status }) => status)).toEqual([...Object.values(mapped), "open"]);
      expect(rejected).toEqual([
        { line: 16, field: "status", message: '"Some day" is not known; imported as open', kept: true },
      ]);
      const named = new Set<string>(["duplicate", ...Object.values(mapped)]);
      expect(submissionStatuses.filter((status) => !named.has(status))).toEqual([]);
    },
  );

  test("Canny, as its API answers", async () => {
    const author = { id: "u1", name: "Ann Lee", email: "ann@x.example" };
    const post = {
      id: "p1",
      title: "Dark mode",
      details: "Please, for the night.",
      status: "under review",
      created: "2023-04-05T10:11:12.000Z",
      author,
      category: { name: "Web" },
      tags: [{ name: "ui" }],
      score: 2,
    };
    const comment = {
      id: "k1",
      author,
      created: "2023-04-06T10:11:12.000Z",
      value: "Yes!",
      parentID: null,
      post: { id: "p1" },
    };
    const { taken: accepted, refused: rejected } = await entries(
      [
        { posts: [post], hasMore: false },
        { comments: [comment, { ...comment, id: "k2", parentID: "k1" }, { ...comment, id: "k3", internal: true }] },
        {
          votes: [
            {
              id: "v1",
              created: "2023-04-07T10:11:12.000Z",
              post: { id: "p1" },
              voter: { name: "Bob", email: "bob@x.example" },
            },
          ],
        },
      ]
        .map((page) => JSON.stringify(page))
        .join("\n"),
      "jsonl",
      { format: "canny" },
    );
    expect(rejected).toEqual([]);
    expect(accepted).toMatchObject([
      { kind: "submission", id: "p1", status: "under_review", author: "ann@x.example", category: "Web", tags: ["ui"] },
      { kind: "comment", id: "k1", submission_id: "p1", body: "Yes!", author: "ann@x.example" },
      { kind: "comment", id: "k2", parent_id: "k1" },
      { kind: "vote", submission_id: "p1", author: "bob@x.example" },
    ]);
  });

  test.each(["false", "true"])(
    "Fider, with more anonymous votes than a file may request: rows above the limit are reported without them (dry run: %s)",
    async (dry_run) => {
      const row = (id: number, votes: number) => `${id},A title of an idea,${votes}`;
      const rows = [row(1, 700), row(2, 20_000), row(3, 298), row(4, 3), row(5, 2), row(6, 1)];
      const file = ["number,title,votes_count", ...rows];
      const query = importQuery.parse({ format: "fider", anonymous_votes: "true", dry_run });
      const votes = new Map<unknown, number>();
      const rejected: unknown[] = [];
      const allowance = { votes: 11_000 };
      for await (const chunk of chunksOf(rowsOf(pieces(file.join("\n")), "csv"), query, allowance)) {
        for (const { kind, fields } of chunk.entries)
          if (kind === "vote") votes.set(fields.submission_id, (votes.get(fields.submission_id) ?? 0) + 1);
          else votes.set(fields.id, 0);
        rejected.push(...chunk.refused);
      }
      const message =
        "was skipped, because a file can create at most 1,000,000 anonymous votes; import the rest from another file";
      expect(rejected).toEqual([
        { line: 3, field: "vote_count", message: "is more than 10,000; imported with 10,000 votes", kept: true },
        { line: 5, field: "vote_count", message, kept: true },
        { line: 7, field: "vote_count", message, kept: true },
      ]);
      expect([...votes.entries()]).toEqual([
        ["1", 700],
        ["2", 10_000],
        ["3", 298],
        ["4", 0],
        ["5", 2],
        ["6", 0],
      ]);
    },
  );

  test.each([
    ...["1,234", "1.234", "1 234", "1\u00A0234", "1\u202F234", "1\u2009234", "1’234", "1,234.00"].map((given) => [
      given,
      1234,
    ]),
    ["+7", 7],
    ["12.0", 12],
    ["0", 0],
    [1500, 1500],
    ...["12 votes", "1,5", "1.5", "1.50", "1.2k", "-3", "1,23,456", "n/a", 1.5, 1e21].map((given) => [
      given,
      undefined,
    ]),
  ])("Canny, with %j votes, has %s or tells that they are left out", async (Votes, count) => {
    const { taken, refused } = await entries(
      JSON.stringify({ "Post Title": "A title", "Post Details": "A description", Votes }),
      "jsonl",
      { format: "canny", anonymous_votes: "true" },
    );
    expect(taken).toHaveLength(1 + Number(count ?? 0));
    expect(refused).toMatchObject(
      count === undefined
        ? [{ field: "vote_count", message: expect.stringContaining("not a whole number"), kept: true }]
        : [],
    );
  });

  test.each([
    ["(deleted)", undefined],
    ["n/a", undefined],
    ["-", undefined],
    ["ann@localhost", undefined],
    ["ann at example.com", undefined],
    ["Ann <ann@example.com>", "ann@example.com"],
    ["mailto:ann@example.com", "ann@example.com"],
  ])("Canny, with the address %s, keeps the post, comment and vote", async (email, author) => {
    const person = { email };
    const post = { id: "p", title: "A title", details: "A description of more.", author: { name: "Ann", email } };
    const { taken, refused } = await entries(
      JSON.stringify({ ...post, comments: [{ id: "c", value: "Yes", author: person }], votes: [{ voter: person }] }),
      "jsonl",
      { format: "canny" },
    );
    expect(taken.map(({ kind }) => kind)).toEqual(["submission", "comment", "vote"]);
    expect(taken[0]).toMatchObject({ author: author ?? "#name ann", author_name: "Ann" });
    if (author) expect(refused).toEqual([]);
    else
      expect(refused).toMatchObject(
        taken.map(() => ({
          field: "author_email",
          message: expect.stringMatching(/; imported without it$/),
          kept: true,
        })),
      );
  });

  test.each([
    ["One<br />Two<br>\nThree", "One\nTwo\nThree"],
    ["<p>One</p>\n<p>Two &euro; &amp; &#8364;</p>", "One\n\nTwo € & €"],
    ["<div>One</div><div><br></div><div>Two</div>", "One\n\nTwo"],
    ["<ul><li>One</li><li><p>Two</p><ol><li>A</li><li>B</li></ol></li></ul>", "- One\n- Two\n  1. A\n  2. B"],
    ["<ul><li>One<ul><li>Two</li></ul></li><li>Three</li></ul>", "- One\n  - Two\n- Three"],
    ['<a href="https://a.example/?b=1&amp;c=2">here</a>', "here (https://a.example/?b=1&c=2)"],
    ['<a href="https://a.example">https://a.example</a>', "https://a.example"],
    ['<img src="https://a.example/i.png" alt="Shot"><br>', "Shot (https://a.example/i.png)"],
    ["<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\nc"],
    ["<script>alert(1)</script><p>Seen</p>", "Seen"],
    ["&lt;p&gt;Twice &amp;amp; so&lt;/p&gt;", "Twice & so"],
    ["<p>A List&lt;String&gt; and List<String></p>", "A List<String> and List<String>"],
    ["Tom &amp; a < b <c", "Tom & a < b <c"],
    ["https://a.example/?a=1&copy=2 costs &euro;5", "https://a.example/?a=1&copy=2 costs €5"],
    ["<p>https://a.example/?a=1&copy=2&lt=3</p>", "https://a.example/?a=1&copy=2&lt=3"],
    ["<b>Allow</b> the tag <script> in a text", "Allow the tag <script> in a text"],
    ["a < b && c > d", "a < b && c > d"],
    ["Use List<String>, the <div> tag and &c.", "Use List<String>, the <div> tag and &c."],
    ["I <3 this\n\n  - so much", "I <3 this\n\n  - so much"],
  ])("Canny, with the text %j, is read as %j", async (details, text) => {
    const { taken } = await entries(
      JSON.stringify({ title: "Q &amp; A", details, comments: [{ id: "c", value: details, author: { name: "Ann" } }] }),
      "jsonl",
      { format: "canny" },
    );
    const [post, comment] = taken as { title?: string; description?: string; body?: string }[];
    expect(post?.title).toBe("Q & A");
    expect(post?.description?.replace("\n\nImported from Canny.", "")).toBe(text);
    expect(comment?.body).toBe(text);
  });

  test("Canny, with texts that Postgres cannot store, does not stop", async () => {
    const { refused } = await entries(JSON.stringify({ title: "A title", status: "a\0b", votes: "c\0d" }), "jsonl", {
      format: "canny",
      anonymous_votes: "true",
    });
    expect(refused).toHaveLength(2);
  });

  test("Fider, as CSV", async () => {
    const { taken: accepted, refused: rejected } = await entries(
      [
        "number,title,description,created_at,created_by,votes_count,comments_count,status,responded_by,responded_at,response,original_number,original_title,tags",
        '10,Go is fast,Very tiny description,2018-03-23T19:33:22Z,Faceless,4,2,declined,John Snow,2018-04-04T19:48:10Z,Nothing we need to do,,,"easy, ignored"',
        "20,Go is easy,,2018-01-12T01:46:59Z,Faceless,4,2,duplicate,,,,99,Go is very easy,",
      ].join("\n"),
      "csv",
      { format: "fider" },
    );
    expect(rejected).toEqual([]);
    expect(accepted).toMatchObject([
      {
        kind: "submission",
        id: "10",
        status: "declined",
        author: "#name faceless",
        tags: ["easy", "ignored"],
        created_at: "2018-03-23T19:33:22Z",
      },
      {
        kind: "status_change",
        submission_id: "10",
        new_status: "declined",
        note: "Nothing we need to do",
        author: "#name john snow",
      },
      { kind: "submission", id: "20", status: "declined" },
    ]);
  });

  test("Fider, as its tags.json, without tags visible to the team only", async () => {
    const tags = [
      { id: 1, name: "Easy one", slug: "easy-one", color: "FF8800", isPublic: true },
      { id: 2, name: "Secret", slug: "secret", color: "000000", isPublic: false },
    ];
    const { taken: accepted } = await entries(JSON.stringify(tags), "json", { format: "fider", what: "tags" });
    expect(accepted).toEqual([{ kind: "tag", name: "Easy one", color: "#ff8800" }]);
  });

  test("Fider, as its API answers", async () => {
    const user = { id: 1, name: "Jon", email: "jon@x.example" };
    const post = {
      id: 77,
      number: 3,
      title: "Go is great",
      description: "Long enough to be taken as it is.",
      createdAt: "2018-02-21T15:51:35Z",
      user,
      status: "started",
      votesCount: 1,
      tags: ["easy"],
      comments: [{ id: 5, content: "Indeed", createdAt: "2018-02-22T15:51:35Z", user }],
      votes: [{ createdAt: "2018-02-21T15:51:35Z", user }],
    };
    const { taken: accepted } = await entries(JSON.stringify([post]), "json", { format: "fider" });
    expect(accepted).toMatchObject([
      { kind: "submission", id: "3", status: "in_progress", author: "jon@x.example" },
      { kind: "comment", id: "5", submission_id: "3", body: "Indeed" },
      { kind: "vote", submission_id: "3", author: "jon@x.example" },
    ]);
  });

  test("all formats: long texts are cut, and a cut title continues in the description", async () => {
    const title = "🦊".repeat(250);
    const { taken: accepted, refused: rejected } = await entries(
      JSON.stringify([{ title, details: "x".repeat(6000) }]),
      "json",
      { format: "canny" },
    );
    expect(rejected).toEqual([]);
    const [{ title: cut, description } = {}] = accepted as { title?: string; description?: string }[];
    expect([...(cut ?? "")]).toHaveLength(200);
    expect([...(description ?? "")]).toHaveLength(5000);
    expect(description).toContain(title);
  });
});
