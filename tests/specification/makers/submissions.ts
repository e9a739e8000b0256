import { merge, newComment, newOrganization, newSubmission, only } from "../../api/world.ts";
import { sql } from "../../stack.ts";
import type { Made, Maker, Thing } from "./maker.ts";

/** A submission by the author. */
async function submission(
  scene: Made,
  fields: Parameters<typeof newSubmission>[2] = {},
  author = "author",
): Promise<Thing> {
  return { id: await newSubmission(await scene.organization, await scene.get(author), fields) };
}

export const submissions = {
  idea: (scene) => submission(scene, { title: "A dark theme" }),
  problem: (scene) => submission(scene, { title: "The export fails", type: "problem" }),
  /** Merged into the idea. */
  merged: async (scene) => {
    const made = await submission(scene, { title: "A theme for the night" });
    await merge(made.id, await scene.id("idea"));
    return made;
  },
  /** The user has voted for it. */
  voted: async (scene) => {
    const made = await submission(scene, { title: "A wanted idea" });
    await sql`insert into public.votes (submission_id, user_id) values (${made.id}, ${await scene.id("user")})`;
    return made;
  },
  /** Waits for approval. */
  pending: async (scene) => {
    const made = await submission(scene, { title: "An idea for the team" });
    await sql`update public.submissions set moderation_state = 'pending' where id = ${made.id}`;
    return made;
  },
  /** Three submissions by the author. */
  by_author: async (scene) => {
    await submission(scene, { title: "The first" });
    await submission(scene, { title: "The second" });
    return submission(scene, { title: "The third" });
  },
  by_key: (scene) => submission(scene, { title: "An idea by a key" }, "key"),
  by_nameless: (scene) => submission(scene, { title: "An idea by somebody" }, "nameless"),
  /** Of another organization. */
  elsewhere: async (scene) => ({ id: await newSubmission(await newOrganization(), await scene.get("author")) }),
  /** With category and tag. */
  labelled: async (scene) => {
    const made = await submission(scene, { title: "A labelled idea", category_id: await scene.id("category") });
    const { id } = await scene.organization;
    await sql`insert into public.submission_tags values (${id}, ${made.id}, ${await scene.id("tag")})`;
    return made;
  },
  /** Three submissions with other orders by creation, votes, comments and title. */
  board: async (scene) => {
    const [user, other] = [await scene.id("user"), await scene.id("other")];
    const minutes = (count: number) => new Date(Date.now() - count * 60_000);
    const apple = await submission(scene, { title: "apple pie wanted", created_at: minutes(3) });
    const banana = await submission(scene, { title: "Banana pie wanted", created_at: minutes(2), type: "problem" });
    const eclair = await submission(scene, { title: "Éclair wanted", created_at: minutes(1) });
    const votes = [
      [banana.id, user],
      [banana.id, other],
      [eclair.id, user],
    ] as const;
    for (const [submission_id, user_id] of votes)
      await sql`insert into public.votes ${sql({ submission_id, user_id })}`;
    for (const id of [apple.id, apple.id, eclair.id]) await newComment(id, { id: user });
    await sql`update public.submissions set status = 'planned' where id = ${eclair.id}`;
    return apple;
  },
  /** A submission whose title and description contain HTML. */
  marked_up: (scene) =>
    submission(scene, { title: "The <b>bold</b> & bright lamp", description: "The lamp should be <i>brighter</i>." }),
  /** 1,050 submissions by the author; the newest is the first. */
  many: async (scene) => {
    const { id } = await scene.organization;
    const [first] = await sql<{ id: string }[]>`
      insert into public.submissions (organization_id, author_id, title, description, type, created_at)
      select ${id}, ${await scene.id("author")}, 'Submission ' || n, 'A description that is long enough.', 'idea', now() - n * interval '1 second'
      from generate_series(1, 1050) n returning id`;
    return { id: only(first).id };
  },
  /** By the key that can only write, and by a person whom it named. */
  by_writer: (scene) => submission(scene, { title: "An idea by a writing key" }, "key submissions:write"),
  /** With 201 changes of its status. */
  changed: async (scene) => {
    const made = await submission(scene);
    const changed_by = await scene.id("admin");
    await sql.begin(async (transaction) => {
      for (let n = 0; n < 201; n++) {
        const row = { submission_id: made.id, changed_by, new_status: n % 2 ? "open" : "planned" };
        await transaction`insert into public.status_changes ${transaction(row)}`;
      }
    });
    return made;
  },
  /** With 51 comments of the top level. */
  discussed: async (scene) => {
    const made = await submission(scene);
    await sql`insert into public.comments (submission_id, author_id, body)
      select ${made.id}, ${await scene.id("author")}, 'Comment ' || n from generate_series(1, 51) n`;
    return made;
  },
  /** An id of nothing. */
  nothing: async () => ({ id: crypto.randomUUID() }),
} satisfies Record<string, Maker>;
