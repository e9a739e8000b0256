import { z } from "zod";
import { vote, voteRemoved } from "../../../shared/votes.ts";
import { notFound } from "../../_shared/http/api-error.ts";
import { castVote, removeVote, voteRemovedResult, voteResult } from "../../_shared/statements/votes.ts";
import { confirm, idempotent, idempotentDestructive, tool } from "../tool.ts";
import { submissionId } from "./submissions.ts";

const asAgent = {};

const vote_submission = tool({
  name: "vote_submission",
  title: "Vote for a submission",
  description: "Vote for a submission as this agent, and follow it. Idempotent.",
  input: z.object({ submission_id: submissionId }),
  output: z.object({ ...vote.shape }),
  scope: "submissions:write",
  annotations: idempotent,
  operation: "vote_create",
  untrusted: [],
  call: ({ submission_id }) => [castVote(submission_id, asAgent, true), voteResult(submission_id, asAgent)],
  respond: ([, [result]]) => {
    if (!result) throw notFound("submission");
    return JSON.parse(result.data);
  },
});

const remove_vote = tool({
  name: "remove_vote",
  title: "Remove a vote",
  description: "Remove this agent's own vote for a submission. Idempotent.",
  input: z.object({ submission_id: submissionId, confirm }),
  output: z.object({ ...voteRemoved.shape }),
  scope: "submissions:write",
  annotations: idempotentDestructive,
  operation: "vote_delete",
  untrusted: [],
  call: ({ submission_id }) => [
    removeVote(submission_id, asAgent),
    voteRemovedResult(submission_id, asAgent),
  ],
  respond: ([, [result]]) => {
    if (!result) throw notFound("submission");
    return JSON.parse(result.data);
  },
});

export const voteTools = [vote_submission, remove_vote];
