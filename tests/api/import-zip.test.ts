import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { chunksOf } from "../../functions/_shared/files/import/chunks.ts";
import { fiderRows } from "../../functions/_shared/files/import/fider.ts";
import { HeldBytes, openZip } from "../../functions/_shared/files/import/zip.ts";
import { importFile } from "../../local/operator/import-export.ts";
import { importQuery } from "../../shared/imports.ts";
import { sql, stack } from "../stack.ts";
import { type ZipFile, zipOf } from "../zip.ts";
import { api, expectError } from "./client.ts";
import { fiderBackup, fiderPost, fiderTables, fiderUser, fiderVote } from "./fider-backup.ts";
import { type Board, importFrom, newBoard } from "./imports.ts";
import { countMistakes, newUser } from "./world.ts";

type Rec = Record<string, unknown>;

const maxBytes = 64 * 1024 * 1024;

/** The zip as a request body in chunks of some bytes. */
function trackedSource(zip: Uint8Array) {
  const bytes = new HeldBytes();
  for (let at = 0; at < zip.length; at += 7) bytes.add(zip.subarray(at, at + 7));
  return bytes;
}

async function contentOf(zip: Uint8Array, name = "a.json", most = maxBytes) {
  const parts = [];
  for await (const part of (await openZip(trackedSource(zip), most))(name) ?? []) parts.push(part);
  return Buffer.concat(parts).toString();
}

async function entries(zip: Uint8Array, hold: (size: number) => void = () => {}) {
  const accepted: Rec[] = [];
  const rejected: Rec[] = [];
  const query = importQuery.parse({ format: "fider" });
  for await (const { file, entries: records, refused: failures } of chunksOf(
    fiderRows(trackedSource(zip), maxBytes, hold),
    query,
  )) {
    accepted.push(...records.map(({ line, kind, fields }) => ({ file, line, kind, ...fields })));
    rejected.push(...failures.map((failure) => ({ file, ...failure })));
  }
  return { taken: accepted, refusals: rejected };
}

test("the reported size of a backup's entries includes ids", async () => {
  const sizeOf = async (id: unknown) => {
    let size = 0;
    await entries(
      zipOf([
        ["posts.json", "[]"],
        ["users.json", JSON.stringify([{ id, name: "Ann" }])],
      ]),
      (more) => {
        size += more;
      },
    );
    return size;
  };
  const small = await sizeOf(1);
  expect(small).toBeGreaterThan(100);
  expect((await sizeOf("x".repeat(60_000))) - small).toBeGreaterThan(120_000);
});

describe("a zip", () => {
  test.each([
    ["as Go streams it", zipOf([["a.json", "[1]"]])],
    ["with sizes before the data", zipOf([["a.json", "[1]", { flags: 0 }]])],
    ["with a file that is not packed", zipOf([["a.json", "[1]", { flags: 0, method: 0 }]])],
    [
      "with others around, in folders",
      zipOf([
        ["b/a.json", "2"],
        ["a.json", "[1]"],
        ["../a.json", "3"],
      ]),
    ],
    ["with a comment", zipOf([["a.json", "[1]"]], { comment: "PK\x05\x06 made on a Monday, by hand." })],
  ])("%s is read", async (_, zip) => {
    expect(await contentOf(zip)).toBe("[1]");
  });

  test("larger than one block is read unchanged", async () => {
    const long = Array.from({ length: 120_000 }, (_, n) => (n * 2_654_435_761) % 4_294_967_296).join(" ");
    const [stored, packed] = [
      ["a.json", long, { flags: 0, method: 0 }] satisfies ZipFile,
      ["b.json", long] satisfies ZipFile,
    ];
    const zip = zipOf([stored, packed]);
    expect((await contentOf(zip)) === long && (await contentOf(zip, "b.json")) === long).toBe(true);
  });

  const good = zipOf([["a.json", "[1]"]]);
  const flawed = (flaw: ZipFile[2]) => zipOf([["a.json", "[1]".repeat(99), flaw]]);
  test.each([
    ["nothing", new Uint8Array()],
    ["no zip", Buffer.from("id,title\n1,A title\n")],
    ["one that is cut", good.subarray(0, -9)],
    ["one with its beginning cut", good.subarray(9)],
    ["one with bytes after it", Buffer.concat([good, Buffer.from("x")])],
    ["one that counts more files", zipOf([["a.json", "[1]"]], { count: 2 })],
    ["one whose count is in a record that it lacks", zipOf([["a.json", "[1]"]], { count: 0xffff })],
    ["a size in a record that it lacks", flawed({ size: 0xffffffff })],
    ["two files of a name", zipOf(["1", "2"].map((content) => ["a.json", content]))],
    ["of too many files", zipOf(Array.from({ length: 20_001 }, (_, n) => [`${n}`, ""]))],
    ["of too many folders", zipOf(Array.from({ length: 20_001 }, (_, n) => [`${n}/`, ""]))],
    ["an encrypted file", flawed({ flags: 9 })],
    ["another packing", flawed({ method: 12 })],
    ["a wrong sum", flawed({ sum: 7 })],
    ["a size that is too small", flawed({ size: 7 })],
    ["a size that is too large", flawed({ size: 7000 })],
    ["bytes that do not inflate", flawed({ packed: Uint8Array.of(7, 7, 7) })],
    ["data that breaks off", flawed({ packed: deflateRawSync("[1]".repeat(99)).subarray(0, 3) })],
    ["a place outside", flawed({ offset: 70_000 })],
    ["a place of something else", flawed({ offset: 3 })],
    ["another name before the data", flawed({ localName: "b.json" })],
  ])("that is %s is rejected", async (_, zip) => {
    await expect(contentOf(zip)).rejects.toMatchObject({
      code: "VALIDATION_ERROR",
      details: [{ field: "body", message: expect.stringContaining("cannot be read") }],
    });
  });

  test("with a declared size above the limit is rejected before inflating, and one with a false size while inflating", async () => {
    const packed = deflateRawSync(Buffer.alloc(50_000_000, " "));
    expect(packed.length).toBeLessThan(60_000);
    await expect(
      contentOf(zipOf([["a.json", "", { packed, size: 50_000_000 }]]), "a.json", 1_000_000),
    ).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
    await expect(contentOf(zipOf([["a.json", "", { packed, size: 3 }]]))).rejects.toMatchObject({
      details: [{ message: expect.stringContaining("cannot be read") }],
    });
  });
});

describe("Fider's backup", () => {
  test("is joined from its tables, without deleted or internal rows, duplicates last", async () => {
    const { taken: accepted, refusals: rejected } = await entries(fiderBackup());
    expect(rejected).toEqual([]);
    expect(accepted).toMatchObject([
      { file: "tags.json", line: 1, kind: "tag", name: "easy", color: "#ff8800" },
      {
        ...{ file: "posts.json", line: 1, kind: "submission", id: "1", title: "Go is fast", status: "declined" },
        ...{ author: "arya@x.example", author_name: "Arya", tags: ["easy"], source: "fider" },
        ...{ created_at: "2024-03-01T10:00:00.123456Z", author_votes: false, follow: false },
      },
      {
        ...{ file: "posts.json", line: 1, kind: "status_change", submission_id: "1", new_status: "declined" },
        ...{ note: "Nothing to do", author: "jon@x.example", created_at: "2024-03-15T10:00:00.123456Z" },
      },
      {
        ...{ line: 3, id: "2", title: "Idea: Go", description: "Imported from Fider." },
        ...{ author: "#user 3", author_name: "Sansa", moderation_state: "pending" },
      },
      { line: 4, id: "4", status: "planned", tags: ["easy"] },
      { line: 2, kind: "merged", id: "3", merged_into_id: "4", author: "#user 3" },
      { file: "post_subscribers.json", line: 1, kind: "follow", submission_id: "1", author: "jon@x.example" },
      { line: 2, submission_id: "1", author: "arya@x.example", reason: "unfollowed" },
      { line: 3, kind: "follow", submission_id: "3", author: "#user 3" },
      {
        ...{ file: "comments.json", line: 1, kind: "comment", id: "21", submission_id: "1", body: "Indeed it is" },
        ...{ author: "arya@x.example", updated_at: "2024-03-13T10:00:00.123456Z", follow: false },
      },
      { line: 4, id: "24", submission_id: "2", author: "#user 4", moderation_state: "pending" },
      { file: "post_votes.json", line: 1, kind: "vote", submission_id: "1", author: "jon@x.example", follow: false },
      { line: 2, submission_id: "3", author: "#user 3" },
      { line: 3, submission_id: "4", author: "jon@x.example" },
      { line: 4, submission_id: "4", author: "#user 3" },
    ]);
    expect(accepted).toHaveLength(15);
  });

  test("reports errors by file and object", async () => {
    const { refusals: rejected, taken: accepted } = await entries(
      fiderBackup({
        users: [fiderUser(1, "Jon", "no address")],
        posts: [fiderPost(11, 1, ""), fiderPost(12, 2, "By nobody we know", { user_id: 9 })],
        post_votes: [fiderVote(12, 9), fiderVote(99, 1)],
        ...{ comments: [], post_subscribers: [], post_tags: [] },
      }),
    );
    expect(rejected).toMatchObject([
      { file: "posts.json", line: 1, field: "title" },
      { file: "post_votes.json", line: 1, field: "author_email" },
      { file: "post_votes.json", line: 2, message: "must be a post in posts.json" },
    ]);
    expect(accepted.filter(({ kind }) => kind === "submission")).toMatchObject([{ id: "2", author: "#nobody" }]);
  });

  test("with circular or missing originals creates separate submissions", async () => {
    const posts = [
      fiderPost(1, 1, "One of two", { status: 5, original_id: 2 }),
      fiderPost(2, 2, "Two of two", { status: 5, original_id: 1 }),
      fiderPost(3, 3, "Of what is gone", { status: 5, original_id: 4 }),
      fiderPost(4, 4, "What is gone", { status: 6 }),
      fiderPost(5, 5, "At the end of a chain", { status: 5, original_id: 6 }),
      fiderPost(6, 6, "Within a chain", { status: 5, original_id: 7 }),
      fiderPost(7, 7, "The beginning of it"),
    ];
    const none = { comments: [], post_subscribers: [], post_tags: [], post_votes: [] };
    const { taken: accepted } = await entries(fiderBackup({ posts, ...none }));
    const rows = accepted.slice(1).map(({ id, kind, merged_into_id }) => [id, kind, merged_into_id]);
    expect(rows).toEqual([
      ["7", "submission", undefined],
      ["1", "submission", undefined],
      ["2", "submission", undefined],
      ["3", "submission", undefined],
      ["5", "merged", "7"],
      ["6", "merged", "7"],
    ]);
  });

  test.each([
    ["packed with its folder", zipOf([["backup/posts.json", "[]"]]), "has no posts.json"],
    ["with a file of another name", fiderBackup({}, ["posts.jsonl", "x"]), undefined],
    [
      "with a table that is no JSON",
      zipOf([["posts.json", "x"]]),
      "contains posts.json, which is not valid JSON at line 1",
    ],
    ["with a table that breaks off", zipOf([["posts.json", '[{"id":1']]), "contains posts.json, which is incomplete"],
    [
      "with users that are damaged",
      zipOf([
        ["posts.json", "[]"],
        ["users.json", "[]", { sum: 1 }],
      ]),
      "contains users.json, which cannot be read",
    ],
    ["with two of a table", fiderBackup({}, ["posts.json", "[]"]), "cannot be read"],
  ])("%s", async (_, zip, message) => {
    if (message)
      await expect(entries(zip)).rejects.toMatchObject({ details: [{ message: expect.stringContaining(message) }] });
    else expect((await entries(zip)).taken).toHaveLength(15);
  });
});

describe("a zip at the endpoint", () => {
  const headers = { "content-type": "application/zip" };
  const importing = ({ key }: Board, raw: Uint8Array, query = "?format=fider") =>
    importFrom(key, raw, query, headers["content-type"]);
  const submissionsOf = ({ organization }: Board) => sql<Rec[]>`
    select s.title, s.status, s.vote_count, s.comment_count, s.moderation_state, t.title as target,
      array(select coalesce(p.email, p.name) from public.follows f join public.profiles p on p.id = f.user_id where f.submission_id = s.id) as followers
    from public.submissions s left join public.submissions t on t.id = s.merged_into_id
    where s.organization_id = ${organization.id} order by s.created_at`;

  test("is imported once with exact counts, as its dry run reported", async () => {
    const board = await newBoard();
    const tried = await importing(board, fiderBackup(), "?format=fider&dry_run=true");
    expect(tried).toMatchObject({ processed: 15, created: 15, failed: 0, errors: [] });
    expect(await submissionsOf(board)).toEqual([]);
    // The vote of the duplicate already exists on its target.
    expect(await importing(board, fiderBackup())).toMatchObject({ processed: 15, created: 14, skipped: 1, failed: 0 });
    const submissions = [
      {
        ...{ title: "Go is fast", status: "declined", vote_count: 1, comment_count: 1, moderation_state: "approved" },
        ...{ target: null, followers: ["jon@x.example"] },
      },
      {
        ...{ title: "Idea: Go", status: "open", vote_count: 0, comment_count: 0, moderation_state: "pending" },
        ...{ target: null, followers: [] },
      },
      { ...{ title: "Go is very easy", status: "duplicate", target: "Go is easy", followers: ["Sansa"] } },
      { title: "Go is easy", status: "planned", vote_count: 2, target: null, followers: [] },
    ];
    expect(await submissionsOf(board)).toMatchObject(submissions);
    expect(await importing(board, fiderBackup())).toMatchObject({ created: 0, skipped: 15, failed: 0 });
    expect(await submissionsOf(board)).toMatchObject(submissions);
    expect(await countMistakes(board.organization)).toEqual([]);
  });

  test("does not match authors of another organization, and does not act as a user", async () => {
    const [own, foreign] = [await newBoard(), await newBoard()];
    const ann = await newUser("Ann");
    const backup = fiderBackup({
      users: fiderTables.users?.map((user) => ({ ...user, email: user.email && ann.email })) ?? [],
    });
    await importing(foreign, backup);
    await importing(own, backup);
    const authors = await sql<Rec[]>`
      select distinct p.organization_id, p.kind from public.submissions s join public.profiles p on p.id = s.author_id
      where s.organization_id = ${own.organization.id} order by 2`;
    expect(authors).toEqual([
      { organization_id: own.organization.id, kind: "anonymous" },
      { organization_id: own.organization.id, kind: "email" },
    ]);
  });

  test("reports the file of an error, also of one that the database finds", async () => {
    const board = await newBoard();
    const done = await importing(
      board,
      fiderBackup({ posts: [fiderPost(11, 1, "Of a day that was not", { created_at: "2024-02-30T00:00:00Z" })] }),
    );
    expect(done.errors).toEqual(
      expect.arrayContaining([
        { file: "posts.json", line: 1, field: "created_at", message: expect.stringContaining("must be a time") },
        {
          file: "comments.json",
          line: 1,
          field: "submission_id",
          message: expect.stringContaining("is not a submission of"),
        },
      ]),
    );
  });

  test("returns 400 with the position when damaged, 400 for another format, 413 when too large unpacked", async () => {
    const { key: as } = await newBoard();
    const post = (raw: Uint8Array, query = "?format=fider") =>
      api("POST", `/api/admin/import${query}`, { as, raw, headers });
    const cut = expectError(await post(fiderBackup().subarray(0, 900)), "VALIDATION_ERROR", "body");
    expect(cut.details).toMatchObject([{ message: expect.stringContaining("cannot be read") }]);
    expectError(await post(fiderBackup(), ""), "VALIDATION_ERROR", "format");
    const packed = deflateRawSync(Buffer.alloc(maxBytes + 1, " "));
    expectError(await post(zipOf([["posts.json", "", { packed, size: maxBytes + 1 }]])), "PAYLOAD_TOO_LARGE");
  });

  test("is accepted by the command line too", async () => {
    const board = await newBoard();
    const folder = await mkdtemp(join(tmpdir(), "feedback-fider-"));
    try {
      const path = join(folder, "backup.zip");
      await writeFile(path, fiderBackup());
      const access = { url: stack.supabase_url, key: board.key.token };
      const done = await importFile(access, path, { format: "fider" }, () => undefined);
      expect(done).toMatchObject({ state: "completed", created: 14, skipped: 1, failed: 0 });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
