import { invitePrefix, newApiKey } from "../../shared/api-keys.ts";
import {
  inviteAccept,
  inviteAnswer,
  inviteCreate,
  inviteListAnswer,
  joinedAnswer,
  memberAnswer,
  memberListAnswer,
  memberRemoval,
  memberRemovedAnswer,
  newInviteAnswer,
  ownershipTransfer,
  roleChange,
} from "../../shared/members.ts";
import { pageQuery } from "../../shared/pagination.ts";
import { notFound } from "../_shared/http/api-error.ts";
import { dataResponse, endpointsOf, row, rows } from "../_shared/http/endpoint.ts";
import {
  acceptInvite,
  changeRole,
  createInvite,
  listInvites,
  listMembers,
  removeMember,
  resetSecondFactor,
  revokeInvite,
  transferOwnership,
} from "../_shared/statements/members.ts";

const { get, post, patch, del } = endpointsOf({ tag: "Team", access: "person" });
const noInvite = () => notFound("invite");

export const members = [
  get("/organizations/:id/members", {
    access: "caller",
    scopes: ["members:write"],
    summary: "List the team, owners first, for its members",
    query: pageQuery,
    responses: { 200: memberListAnswer },
    call: ({ params, query }) => [listMembers(params.id, query)],
    respond: rows("member"),
  }),
  patch("/organizations/:id/members/:user_id", {
    summary: "Change the role of a member, as an admin",
    body: roleChange,
    responses: { 200: memberAnswer },
    call: ({ params, body }) => [changeRole(params.id, params.user_id, body)],
    respond: row("member"),
  }),
  del("/organizations/:id/members/:user_id", {
    access: "caller",
    scopes: ["members:write"],
    summary: "Remove a member, as an admin, or leave the team",
    query: memberRemoval,
    responses: { 200: memberRemovedAnswer },
    call: ({ params, query }) => [removeMember(params.id, params.user_id, query.revoke)],
    respond: row("member"),
  }),
  del("/organizations/:id/members/:user_id/second-factor", {
    summary: "Remove the second factor of a member who lost it, as the owner of all their teams (idempotent)",
    responses: { 200: memberAnswer },
    call: ({ params }) => [resetSecondFactor(params.id, params.user_id)],
    respond: row("member"),
  }),
  post("/organizations/:id/transfer", {
    summary: "Transfer ownership to a member",
    body: ownershipTransfer,
    responses: { 200: memberAnswer },
    call: ({ params, body }) => [transferOwnership(params.id, body.user_id)],
    respond: row("member"),
  }),
  get("/organizations/:id/invites", {
    access: "caller",
    scopes: ["members:write"],
    summary: "List invites, newest first, as an admin",
    query: pageQuery,
    responses: { 200: inviteListAnswer },
    call: ({ params, query }) => [listInvites(params.id, query)],
    respond: rows("invite"),
  }),
  post("/organizations/:id/invites", {
    summary: "Invite a person to the team, as an admin; the token is returned once",
    body: inviteCreate,
    responses: { 201: newInviteAnswer },
    showsSecret: true,
    prepare: () => newApiKey(invitePrefix),
    call: ({ params, body, prepared }) => [createInvite(params.id, body, prepared)],
    respond: ([[invite]], { prepared }) => {
      if (!invite) throw noInvite();
      return dataResponse(201, JSON.stringify({ ...JSON.parse(invite.data), token: prepared.secret }));
    },
  }),
  del("/organizations/:id/invites/:invite_id", {
    access: "caller",
    scopes: ["members:write"],
    summary: "Revoke an invite, as an admin (idempotent)",
    responses: { 200: inviteAnswer },
    call: ({ params }) => [revokeInvite(params.id, params.invite_id)],
    respond: row("invite"),
  }),
  post("/invites/accept", {
    summary: "Accept an invite to your email address (idempotent)",
    body: inviteAccept,
    responses: { 201: joinedAnswer, 200: joinedAnswer },
    call: ({ body }) => [acceptInvite(body.token)],
    respond: ([[accepted]]) => {
      if (!accepted) throw noInvite();
      return dataResponse(accepted.joined ? 201 : 200, accepted.data);
    },
  }),
];
