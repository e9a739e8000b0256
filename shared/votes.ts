import { z } from "zod";
import { dataOf, listOf } from "./envelopes.ts";
import { count, onBehalfFields, timestamp, uuid } from "./fields.ts";
import { totalMeta } from "./pagination.ts";
import { submissionStatus } from "./submissions.ts";

// In ------------------------------------------------------------------------------------------------------------

export const voteByKey = z.object(onBehalfFields).meta({
  id: "VoteByKey",
  description: "For whom an organization's key votes; without an address, for itself.",
});

export type VoteByKey = z.infer<typeof voteByKey>;

// Out -----------------------------------------------------------------------------------------------------------

const voteCount = count.describe("Votes there are now.");

export const vote = z
  .object({ submission_id: uuid, user_id: uuid, vote_count: voteCount, created_at: timestamp })
  .meta({ id: "Vote", description: "A person's vote for a submission." });

export const voteRemoved = z
  .object({ submission_id: uuid, user_id: uuid, vote_count: voteCount })
  .meta({ id: "VoteRemoved", description: "A submission after a vote was taken back, or was not there." });

const commentVote = z
  .object({ comment_id: uuid, user_id: uuid, vote_count: voteCount, created_at: timestamp })
  .meta({ id: "CommentVote", description: "A person's vote for a comment." });

const commentVoteRemoved = z.object({ comment_id: uuid, user_id: uuid, vote_count: voteCount }).meta({
  id: "CommentVoteRemoved",
  description: "A comment after a vote was taken back, or was not there.",
});

const myVote = z
  .object({
    submission_id: uuid,
    title: z.string(),
    status: submissionStatus,
    vote_count: voteCount,
    voted_at: timestamp,
  })
  .meta({ id: "MyVote", description: "A submission the caller voted for." });

const voter = z
  .object({
    user_id: uuid,
    name: z.string().describe("`Anonymous` where the person gave none."),
    email: z.string().nullable().describe("Null for keys and for people who were erased."),
    voted_at: timestamp,
  })
  .meta({ id: "Voter", description: "Who voted for a submission; Admin only." });

export const voteAnswer = dataOf(vote);
export const voteRemovedAnswer = dataOf(voteRemoved);
export const commentVoteAnswer = dataOf(commentVote);
export const commentVoteRemovedAnswer = dataOf(commentVoteRemoved);
export const myVoteListAnswer = listOf(myVote, totalMeta);
export const voterListAnswer = listOf(voter, totalMeta);
