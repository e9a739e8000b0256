import { z } from "zod";
import { pageQuery } from "../../shared/pagination.ts";
import {
  myVoteListAnswer,
  voteAnswer,
  voteByKey,
  voteCreateByKey,
  voteRemovedAnswer,
  voterListAnswer,
} from "../../shared/votes.ts";
import { notFound } from "../_shared/http/api-error.ts";
import { dataResponse, endpoint } from "../_shared/http/endpoint.ts";
import { requireAdminOf } from "../_shared/statements/submissions.ts";
import {
  castVote,
  followFor,
  myVotes,
  removeVote,
  voteRemovedResult,
  voteResult,
  votersOf,
} from "../_shared/statements/votes.ts";

const tag = "Votes";
const missing = () => notFound("submission");
const nothing = z.object({});

export const votes = [
  endpoint({
    method: "post",
    path: "/submissions/:id/vote",
    tag,
    access: "caller",
    scopes: ["submissions:write"],
    operation: "vote_create",
    summary: "Vote for a submission (idempotent)",
    body: nothing,
    bodyByKey: voteCreateByKey,
    responses: { 201: voteAnswer, 200: voteAnswer },
    call: ({ params, body, byKey }) => [
      castVote(params.id, body, byKey),
      voteResult(params.id, body),
      ...("follow" in body && body.follow ? [followFor(params.id, body, "vote")] : []),
    ],
    respond: ([added, [vote]]) => {
      if (!vote) throw missing();
      return dataResponse(added.length ? 201 : 200, vote.data);
    },
  }),
  endpoint({
    method: "delete",
    path: "/submissions/:id/vote",
    tag,
    access: "caller",
    scopes: ["submissions:write"],
    operation: "vote_delete",
    summary: "Remove a vote (idempotent)",
    body: nothing,
    bodyByKey: voteByKey,
    responses: { 200: voteRemovedAnswer },
    call: ({ params, body }) => [removeVote(params.id, body), voteRemovedResult(params.id, body)],
    respond: ([, [result]]) => {
      if (!result) throw missing();
      return dataResponse(200, result.data);
    },
  }),
  endpoint({
    method: "get",
    path: "/submissions/:id/voters",
    tag,
    access: "caller",
    scopes: ["submissions:moderate"],
    operation: "vote_list",
    summary: "List voters, as an admin",
    query: pageQuery,
    responses: { 200: voterListAnswer },
    call: ({ params, query }) => [requireAdminOf(params.id), votersOf(params.id, query)],
    respond: ([admin, [voters]]) => {
      if (admin.length === 0 || !voters) throw missing();
      return dataResponse(200, voters.data, { total: voters.total });
    },
  }),
  endpoint({
    method: "get",
    path: "/me/votes",
    tag,
    access: "person",
    operation: "vote_list",
    summary: "List the signed-in user's votes",
    query: pageQuery,
    responses: { 200: myVoteListAnswer },
    call: ({ query }) => [myVotes(query)],
    respond: ([[page]]) => dataResponse(200, page?.data ?? "[]", { total: page?.total ?? 0 }),
  }),
];
