import {
  mailMuteAnswer,
  mailPreferencesAnswer,
  mailPreferencesPatch,
  mailSuppressionsAnswer,
  mailSuppressionsQuery,
} from "../../shared/mail.ts";
import { deletedAnswer } from "../../shared/submissions.ts";
import { dataResponse, endpointsOf, row } from "../_shared/http/endpoint.ts";
import {
  changeMyMailPreferences,
  liftMailSuppression,
  mailSuppressions,
  muteSubmission,
  myMailPreferences,
} from "../_shared/statements/mail.ts";

const { get, post, patch, del } = endpointsOf({ tag: "Mail", access: "person" });
export const mail = [
  get("/me/mail-preferences", {
    summary: "Show the signed-in user's mail preferences in the organization",
    responses: { 200: mailPreferencesAnswer },
    call: () => [myMailPreferences()],
    respond: ([[page]]) => dataResponse(200, JSON.stringify(page?.data)),
  }),
  patch("/me/mail-preferences", {
    summary: "Change the signed-in user's mail preferences in the organization",
    body: mailPreferencesPatch,
    responses: { 200: mailPreferencesAnswer },
    call: ({ body }) => [changeMyMailPreferences(body)],
    respond: ([[page]]) => dataResponse(200, JSON.stringify(page?.data)),
  }),
  post("/submissions/:id/mute", {
    summary: "Get no mail about a submission (idempotent)",
    responses: { 200: mailMuteAnswer },
    call: ({ params }) => [muteSubmission(params.id, true)],
    respond: row("submission"),
  }),
  del("/submissions/:id/mute", {
    summary: "Get mail about a submission again (idempotent)",
    responses: { 200: mailMuteAnswer },
    call: ({ params }) => [muteSubmission(params.id, false)],
    respond: row("submission"),
  }),
  get("/admin/mail-suppressions", {
    access: "caller",
    scopes: ["members:write"],
    summary: "List people who get no mail, with the reason, as an admin",
    query: mailSuppressionsQuery,
    responses: { 200: mailSuppressionsAnswer },
    call: ({ query }) => [mailSuppressions(query.email)],
    respond: row("organization"),
  }),
  del("/admin/mail-suppressions", {
    access: "caller",
    scopes: ["members:write"],
    summary: "Send mail again to an address that bounced, as an admin",
    query: mailSuppressionsQuery.required(),
    responses: { 200: deletedAnswer },
    call: ({ query }) => [liftMailSuppression(query)],
    respond: row("address without mail"),
  }),
  del("/admin/mail-suppressions/:id", {
    access: "caller",
    scopes: ["members:write"],
    summary: "Send mail again to a person whose address bounced, as an admin",
    responses: { 200: deletedAnswer },
    call: ({ params }) => [liftMailSuppression(params)],
    respond: row("person without mail"),
  }),
];
