import { z } from "zod";
import { dataOf } from "./envelopes.ts";
import { uuid } from "./fields.ts";

const follow = z
  .object({
    submission_id: uuid,
    is_following: z.boolean().describe("Whether the caller follows it after the request."),
  })
  .meta({ id: "Follow", description: "Whether the caller follows a submission." });

export const followAnswer = dataOf(follow);
