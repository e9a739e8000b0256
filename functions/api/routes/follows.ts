import { followAnswer } from "../../../shared/follows.ts";
import { notFound } from "../../_shared/api-error.ts";
import { answer, endpoint } from "../../_shared/endpoint.ts";
import { follow, followState, unfollow } from "../../_shared/statements/follows.ts";

const tag = "Follows";

export const follows = [
  endpoint({
    method: "post",
    path: "/submissions/:id/follow",
    tag,
    access: "person",
    summary: "Follow a submission; again is not an error",
    answers: { 201: followAnswer, 200: followAnswer },
    call: ({ params }) => [follow(params.id), followState(params.id)],
    respond: ([added, [state]]) => {
      if (!state) throw notFound("submission");
      return answer(added.length ? 201 : 200, state.data);
    },
  }),
  endpoint({
    method: "delete",
    path: "/submissions/:id/follow",
    tag,
    access: "person",
    summary: "Stop following a submission; again is not an error",
    answers: { 200: followAnswer },
    call: ({ params }) => [unfollow(params.id), followState(params.id)],
    respond: ([, [state]]) => {
      if (!state) throw notFound("submission");
      return answer(200, state.data);
    },
  }),
];
