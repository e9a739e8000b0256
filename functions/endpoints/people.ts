import {
  erasedAnswer,
  eraseMeQuery,
  peopleAnswer,
  peopleQuery,
  personAnswer,
  personalDataAnswer,
  trustAnswer,
  trustDecision,
} from "../../shared/people.ts";
import { notFound } from "../_shared/http/api-error.ts";
import { dataResponse, endpoint } from "../_shared/http/endpoint.ts";
import {
  decideTrust,
  eraseMe,
  erasePerson,
  findPeople,
  myPersonalData,
  personalData,
  searchPeople,
  showPerson,
} from "../_shared/statements/people.ts";

const tag = "Data protection";
const scopes = ["members:write"] as const;

/** Data of a person; 404 if there is no such person. */
function shown(data: string | null | undefined) {
  if (!data) throw notFound("person");
  return dataResponse(200, data);
}

export const people = [
  endpoint({
    method: "get",
    path: "/admin/people",
    tag,
    access: "caller",
    scopes: [...scopes],
    summary: "Find people by e-mail address or name, as an admin",
    query: peopleQuery,
    responses: { 200: peopleAnswer },
    call: ({ query: { email, search = "" } }) => [email ? findPeople(email) : searchPeople(search)],
    respond: ([[found]]) => dataResponse(200, found?.data ?? "[]"),
  }),
  endpoint({
    method: "get",
    path: "/admin/people/:id",
    tag,
    access: "caller",
    scopes: [...scopes],
    summary: "Show a person with their contributions, as an admin",
    responses: { 200: personAnswer },
    call: ({ params }) => [showPerson(params.id)],
    respond: ([[data]]) => shown(data?.data),
  }),
  endpoint({
    method: "put",
    path: "/admin/people/:id/trust",
    tag,
    access: "caller",
    scopes: ["submissions:moderate"],
    summary: "Decide whether a person's content needs approval, as an admin",
    body: trustDecision,
    responses: { 200: trustAnswer },
    call: ({ params, body }) => [decideTrust(params.id, body.trusted)],
    respond: ([[data]]) => shown(data?.data),
  }),
  endpoint({
    method: "get",
    path: "/admin/people/:id/export",
    runsLong: true,
    tag,
    access: "caller",
    scopes: [...scopes],
    summary: "Export the personal data of a person, as an admin",
    responses: { 200: personalDataAnswer },
    call: ({ params }) => [personalData(params.id)],
    respond: ([[data]]) => shown(data?.data),
  }),
  endpoint({
    method: "post",
    path: "/admin/people/:id/erase",
    runsLong: true,
    tag,
    access: "caller",
    scopes: [...scopes],
    summary: "Erase a person, as an admin (idempotent)",
    responses: { 200: erasedAnswer },
    call: ({ params }) => [erasePerson(params.id)],
    respond: ([[data]]) => shown(data?.data),
  }),
  endpoint({
    method: "get",
    path: "/me/export",
    runsLong: true,
    tag,
    access: "person",
    summary: "Export the personal data of the signed-in user",
    responses: { 200: personalDataAnswer },
    call: () => [myPersonalData()],
    respond: ([[data]]) => shown(data?.data),
  }),
  endpoint({
    method: "delete",
    path: "/me",
    runsLong: true,
    tag,
    access: "person",
    summary: "Erase the signed-in user's account permanently",
    query: eraseMeQuery,
    responses: { 200: erasedAnswer },
    call: () => [eraseMe()],
    respond: ([[erased]]) => dataResponse(200, JSON.stringify({ id: erased?.id, erased: true })),
  }),
];
