import { followAnswer } from "../../shared/follows.ts";
import { endpointsOf, madeOrFound, row } from "../_shared/http/endpoint.ts";
import { follow, followState, unfollow } from "../_shared/statements/follows.ts";

const { post, del } = endpointsOf({ tag: "Follows", access: "person" });
export const follows = [
  post("/submissions/:id/follow", {
    summary: "Follow a submission (idempotent)",
    responses: { 201: followAnswer, 200: followAnswer },
    call: ({ params }) => [follow(params.id), followState(params.id)],
    respond: madeOrFound("submission"),
  }),
  del("/submissions/:id/follow", {
    summary: "Unfollow a submission (idempotent)",
    responses: { 200: followAnswer },
    call: ({ params }) => [unfollow(params.id), followState(params.id)],
    respond: row("submission"),
  }),
];
