import { merge, newOrganization, newSubmission } from "../../api/world.ts";
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
  /** An id of nothing. */
  nothing: async () => ({ id: crypto.randomUUID() }),
} satisfies Record<string, Maker>;
