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
import { dataResponse, endpointsOf, madeOrFound, row } from "../_shared/http/endpoint.ts";
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

const { get, post, del } = endpointsOf({ tag: "Votes", access: "caller" });
const missing = () => notFound("submission");
const nothing = z.object({});

export const votes = [
  post("/submissions/:id/vote", {
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
    respond: madeOrFound("submission"),
  }),
  del("/submissions/:id/vote", {
    scopes: ["submissions:write"],
    operation: "vote_delete",
    summary: "Remove a vote (idempotent)",
    body: nothing,
    bodyByKey: voteByKey,
    responses: { 200: voteRemovedAnswer },
    call: ({ params, body }) => [removeVote(params.id, body), voteRemovedResult(params.id, body)],
    respond: row("submission"),
  }),
  get("/submissions/:id/voters", {
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
  get("/me/votes", {
    access: "person",
    operation: "vote_list",
    summary: "List the signed-in user's votes",
    query: pageQuery,
    responses: { 200: myVoteListAnswer },
    call: ({ query }) => [myVotes(query)],
    respond: ([[page]]) => dataResponse(200, page?.data ?? "[]", { total: page?.total ?? 0 }),
  }),
];
