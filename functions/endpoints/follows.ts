import { followAnswer } from "../../shared/follows.ts";
import { notFound } from "../_shared/http/api-error.ts";
import { dataResponse, endpoint } from "../_shared/http/endpoint.ts";
import { follow, followState, unfollow } from "../_shared/statements/follows.ts";

const tag = "Follows";

export const follows = [
  endpoint({
    method: "post",
    path: "/submissions/:id/follow",
    tag,
    access: "person",
    summary: "Follow a submission (idempotent)",
    responses: { 201: followAnswer, 200: followAnswer },
    call: ({ params }) => [follow(params.id), followState(params.id)],
    respond: ([added, [state]]) => {
      if (!state) throw notFound("submission");
      return dataResponse(added.length ? 201 : 200, state.data);
    },
  }),
  endpoint({
    method: "delete",
    path: "/submissions/:id/follow",
    tag,
    access: "person",
    summary: "Unfollow a submission (idempotent)",
    responses: { 200: followAnswer },
    call: ({ params }) => [unfollow(params.id), followState(params.id)],
    respond: ([, [state]]) => {
      if (!state) throw notFound("submission");
      return dataResponse(200, state.data);
    },
  }),
];
