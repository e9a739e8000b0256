import { z } from "zod";
import { dataOf, listOf } from "./envelopes.ts";
import { count, followField, onBehalfFields, timestamp, uuid } from "./fields.ts";
import { totalMeta } from "./pagination.ts";
import { submissionStatus } from "./submissions.ts";

// In ------------------------------------------------------------------------------------------------------------

export const voteByKey = z
  .object(onBehalfFields)
  .meta({
    id: "VoteByKey",
    description: "The person for whom an organization key votes; without an address the key itself.",
  });

export const voteCreateByKey = z
  .object({ ...onBehalfFields, follow: followField })
  .meta({
    id: "VoteCreateByKey",
    description: "The person for whom an organization key votes, and whether they follow.",
  });

export type VoteByKey = z.infer<typeof voteByKey>;

// Out -----------------------------------------------------------------------------------------------------------

const voteCount = count.describe("Current number of votes.");

const vote = z
  .object({ submission_id: uuid, user_id: uuid, vote_count: voteCount, created_at: timestamp })
  .meta({ id: "Vote", description: "A vote for a submission." });

const voteRemoved = z
  .object({ submission_id: uuid, user_id: uuid, vote_count: voteCount })
  .meta({ id: "VoteRemoved", description: "A submission after a vote was removed, or if there was none." });

const commentVote = z
  .object({ comment_id: uuid, user_id: uuid, vote_count: voteCount, created_at: timestamp })
  .meta({ id: "CommentVote", description: "A vote for a comment." });

const commentVoteRemoved = z
  .object({ comment_id: uuid, user_id: uuid, vote_count: voteCount })
  .meta({ id: "CommentVoteRemoved", description: "A comment after a vote was removed, or if there was none." });

const myVote = z
  .object({
    submission_id: uuid,
    title: z.string(),
    status: submissionStatus,
    vote_count: voteCount,
    voted_at: timestamp,
  })
  .meta({ id: "MyVote", description: "A submission that the caller voted for." });

const voter = z
  .object({
    user_id: uuid,
    name: z.string().describe("`Anonymous` without a name."),
    email: z.string().nullable().describe("Null for keys and erased people."),
    voted_at: timestamp,
  })
  .meta({ id: "Voter", description: "A voter of a submission; Admin only." });

export const voteAnswer = dataOf(vote);
export const voteRemovedAnswer = dataOf(voteRemoved);
export const commentVoteAnswer = dataOf(commentVote);
export const commentVoteRemovedAnswer = dataOf(commentVoteRemoved);
export const myVoteListAnswer = listOf(myVote, totalMeta);
export const voterListAnswer = listOf(voter, totalMeta);
