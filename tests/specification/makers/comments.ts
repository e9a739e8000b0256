import { newComment } from "../../api/world.ts";
import { sql } from "../../stack.ts";
import type { Made, Maker, Thing } from "./maker.ts";

type Fields = { body?: string; parent?: string; minutes?: number };

/** A comment on the idea, by its author if nobody else is named. */
async function comment(
  scene: Made,
  by = "author",
  { body = "A comment", parent, minutes = 0 }: Fields = {},
): Promise<Thing> {
  const created_at = new Date(Date.now() - minutes * 60_000);
  const parent_id = parent === undefined ? {} : { parent_id: await scene.id(parent) };
  const id = await newComment(await scene.id("idea"), await scene.get(by), { body, created_at, ...parent_id });
  return { id };
}

export const comments = {
  comment: (scene) => comment(scene),
  reply: (scene) => comment(scene, "user", { body: "A reply", parent: "comment" }),
  deep_reply: (scene) => comment(scene, "other", { body: "A deep reply", parent: "reply" }),
  official: (scene) => comment(scene, "member", { body: "An official comment" }),
  by_user: (scene) => comment(scene, "user", { body: "A comment by a user" }),
  by_key_comment: (scene) => comment(scene, "key submissions:write", { body: "A comment by a key" }),
  /** Written almost, and more than, 15 minutes ago. */
  recent_comment: (scene) => comment(scene, "author", { minutes: 14.5 }),
  old_comment: (scene) => comment(scene, "author", { minutes: 15.1 }),
  old_official: (scene) => comment(scene, "member", { minutes: 15.1 }),
  pending_comment: async (scene) => {
    const { id } = await comment(scene);
    await sql`update public.comments set moderation_state = 'pending' where id = ${id}`;
    return { id };
  },
  /** The user has voted for it. */
  voted_comment: async (scene) => {
    const { id } = await comment(scene, "author", { minutes: 1 });
    await sql`insert into public.comment_votes (comment_id, user_id) values (${id}, ${await scene.id("user")})`;
    return { id };
  },
  /** With 101 replies. */
  answered: async (scene) => {
    const made = await comment(scene);
    await sql`insert into public.comments (submission_id, parent_id, author_id, body)
      select ${await scene.id("idea")}, ${made.id ?? ""}, ${await scene.id("author")}, 'Reply ' || n from generate_series(1, 101) n`;
    return made;
  },
  /** Comments by the author, from an old one to a new one, the middle one with a vote, and an official one at the end. */
  discussion: async (scene) => {
    const oldest = await comment(scene, "author", { body: "First", minutes: 9 });
    const middle = await comment(scene, "author", { body: "Second", minutes: 8 });
    await comment(scene, "author", { body: "Third", minutes: 7 });
    await comment(scene, "member", { body: "Official", minutes: 6 });
    await sql`insert into public.comment_votes (comment_id, user_id) values (${middle.id ?? ""}, ${await scene.id("user")})`;
    return oldest;
  },
} satisfies Record<string, Maker>;
