import {
  mailMuteAnswer,
  mailPreferencesAnswer,
  mailPreferencesPatch,
  mailSuppressionsAnswer,
  mailSuppressionsQuery,
} from "../../shared/mail.ts";
import { deletedAnswer } from "../../shared/submissions.ts";
import { notFound } from "../_shared/http/api-error.ts";
import { dataResponse, endpoint } from "../_shared/http/endpoint.ts";
import {
  changeMyMailPreferences,
  liftMailSuppression,
  mailSuppressions,
  muteSubmission,
  myMailPreferences,
} from "../_shared/statements/mail.ts";

const tag = "Mail";

export const mail = [
  endpoint({
    method: "get",
    path: "/me/mail-preferences",
    tag,
    access: "person",
    summary: "Show the signed-in user's mail preferences in the organization",
    responses: { 200: mailPreferencesAnswer },
    call: () => [myMailPreferences()],
    respond: ([[page]]) => dataResponse(200, JSON.stringify(page?.data)),
  }),
  endpoint({
    method: "patch",
    path: "/me/mail-preferences",
    tag,
    access: "person",
    summary: "Change the signed-in user's mail preferences in the organization",
    body: mailPreferencesPatch,
    responses: { 200: mailPreferencesAnswer },
    call: ({ body }) => [changeMyMailPreferences(body)],
    respond: ([[page]]) => dataResponse(200, JSON.stringify(page?.data)),
  }),
  endpoint({
    method: "post",
    path: "/submissions/:id/mute",
    tag,
    access: "person",
    summary: "Get no mail about a submission (idempotent)",
    responses: { 200: mailMuteAnswer },
    call: ({ params }) => [muteSubmission(params.id, true)],
    respond: ([[state]]) => {
      if (!state) throw notFound("submission");
      return dataResponse(200, state.data);
    },
  }),
  endpoint({
    method: "delete",
    path: "/submissions/:id/mute",
    tag,
    access: "person",
    summary: "Get mail about a submission again (idempotent)",
    responses: { 200: mailMuteAnswer },
    call: ({ params }) => [muteSubmission(params.id, false)],
    respond: ([[state]]) => {
      if (!state) throw notFound("submission");
      return dataResponse(200, state.data);
    },
  }),
  endpoint({
    method: "get",
    path: "/admin/mail-suppressions",
    tag,
    access: "caller",
    scopes: ["members:write"],
    summary: "List people who get no mail, with the reason, as an admin",
    query: mailSuppressionsQuery,
    responses: { 200: mailSuppressionsAnswer },
    call: ({ query }) => [mailSuppressions(query.email)],
    respond: ([[listed]]) => dataResponse(200, listed?.data ?? "[]"),
  }),
  endpoint({
    method: "delete",
    path: "/admin/mail-suppressions",
    tag,
    access: "caller",
    scopes: ["members:write"],
    summary: "Send mail again to an address that bounced, as an admin",
    query: mailSuppressionsQuery.required(),
    responses: { 200: deletedAnswer },
    call: ({ query }) => [liftMailSuppression(query)],
    respond: ([[lifted]]) => {
      if (!lifted?.data) throw notFound("address without mail");
      return dataResponse(200, lifted.data);
    },
  }),
  endpoint({
    method: "delete",
    path: "/admin/mail-suppressions/:id",
    tag,
    access: "caller",
    scopes: ["members:write"],
    summary: "Send mail again to a person whose address bounced, as an admin",
    responses: { 200: deletedAnswer },
    call: ({ params }) => [liftMailSuppression(params)],
    respond: ([[lifted]]) => {
      if (!lifted?.data) throw notFound("person without mail");
      return dataResponse(200, lifted.data);
    },
  }),
];
