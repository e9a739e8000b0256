import { endpointOf } from "../../_shared/http/endpoint.ts";
import { votes } from "../../endpoints/votes.ts";
import { fromEndpoint } from "../from-endpoint.ts";
import { idempotent, idempotentDestructive } from "../tool.ts";

export const voteTools = [
  fromEndpoint(endpointOf(votes, "post", "/submissions/:id/vote"), {
    name: "vote_submission",
    title: "Vote for a submission",
    description: "Vote for a submission as this agent, and follow it. Idempotent.",
    id: "submission_id",
    scope: "submissions:write",
    annotations: idempotent,
    untrusted: [],
  }),
  fromEndpoint(endpointOf(votes, "delete", "/submissions/:id/vote"), {
    name: "remove_vote",
    title: "Remove a vote",
    description: "Remove this agent's own vote for a submission. Idempotent.",
    id: "submission_id",
    scope: "submissions:write",
    annotations: idempotentDestructive,
    untrusted: [],
  }),
];
