import { afterEach, describe, expect, test } from "vitest";
import { manyUsers, sql, type User } from "../stack.ts";
import { until } from "../until.ts";
import { client, comment, hangUp, listen, newSubmission, settled, vote } from "./listening.ts";

const [alice, bob] = (await manyUsers(2)) as [User, User];
const submission = await newSubmission(alice);
await settled();
afterEach(hangUp);

describe.each([
  ["anon", () => undefined],
  ["someone signed in", () => alice],
])("as %s", (_, who) => {
  test.each(["1.0.0", "2.0.0"])(
    "serializer %s: the votes channel receives the creation and deletion of a vote",
    async (vsn) => {
      const received = await listen(
        client(who(), { vsn }),
        { table: "votes", filter: `submission_id=eq.${submission}` },
        `votes:submission=${submission}`,
      );
      const id = await vote(submission, bob);
      await until(() => received.length >= 1);
      await sql`delete from votes where id = ${id}`;
      await until(() => received.length >= 2);
      expect(received).toMatchObject([
        { eventType: "INSERT", table: "votes", new: { id, submission_id: submission }, old: {}, errors: null },
        { eventType: "DELETE", table: "votes", new: {}, old: { id, submission_id: submission } },
      ]);
      expect(Object.keys(received[0]?.new ?? {}).sort()).toEqual(["id", "organization_id", "submission_id"]);
    },
  );

  test("the comments channel receives new comments of its submission and nothing else", async () => {
    const received = await listen(
      client(who()),
      { event: "INSERT", table: "comments", filter: `submission_id=eq.${submission}` },
      `comments:submission=${submission}`,
    );
    const id = await comment(submission, bob, "Hello 👋 日本語");
    await comment(await newSubmission(), bob, "Elsewhere");
    await until(() => received.length >= 1);
    await sql`update comments set body = 'Hello again' where id = ${id}`;
    await sql`delete from comments where id = ${id}`;
    await settled();
    expect(received).toMatchObject([{ eventType: "INSERT", new: { id, body: "Hello 👋 日本語", vote_count: 0 } }]);
  });
});
