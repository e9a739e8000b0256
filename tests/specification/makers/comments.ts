import { newComment } from "../../api/world.ts";
import { sql } from "../../stack.ts";
import type { Maker } from "./maker.ts";

export const comments = {
  /** A comment on the idea by its author. */
  comment: async (scene) => ({ id: await newComment(await scene.id("idea"), await scene.get("author")) }),
  /** The user has voted for it. */
  voted_comment: async (scene) => {
    const id = await newComment(await scene.id("idea"), await scene.get("author"));
    await sql`insert into public.comment_votes (comment_id, user_id) values (${id}, ${await scene.id("user")})`;
    return { id };
  },
} satisfies Record<string, Maker>;
