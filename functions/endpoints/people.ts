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
import { dataResponse, endpointsOf, row } from "../_shared/http/endpoint.ts";
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

const { get, post, put, del } = endpointsOf({ tag: "Data protection", access: "caller" });
const scopes = ["members:write"] as const;

export const people = [
  get("/admin/people", {
    scopes: [...scopes],
    summary: "Find people by email address or name, as an admin",
    query: peopleQuery,
    responses: { 200: peopleAnswer },
    call: ({ query: { email, search = "" } }) => [email ? findPeople(email) : searchPeople(search)],
    respond: row("person"),
  }),
  get("/admin/people/:id", {
    scopes: [...scopes],
    summary: "Show a person with their contributions, as an admin",
    responses: { 200: personAnswer },
    call: ({ params }) => [showPerson(params.id)],
    respond: row("person"),
  }),
  put("/admin/people/:id/trust", {
    scopes: ["submissions:moderate"],
    summary: "Decide whether a person's content needs approval, as an admin",
    body: trustDecision,
    responses: { 200: trustAnswer },
    call: ({ params, body }) => [decideTrust(params.id, body.trusted)],
    respond: row("person"),
  }),
  get("/admin/people/:id/export", {
    runsLong: true,
    scopes: [...scopes],
    summary: "Export the personal data of a person, as an admin",
    responses: { 200: personalDataAnswer },
    call: ({ params }) => [personalData(params.id)],
    respond: row("person"),
  }),
  post("/admin/people/:id/erase", {
    runsLong: true,
    scopes: [...scopes],
    summary: "Erase a person, as an admin (idempotent)",
    responses: { 200: erasedAnswer },
    call: ({ params }) => [erasePerson(params.id)],
    respond: row("person"),
  }),
  get("/me/export", {
    runsLong: true,
    access: "person",
    summary: "Export the personal data of the signed-in user",
    responses: { 200: personalDataAnswer },
    call: () => [myPersonalData()],
    respond: row("person"),
  }),
  del("/me", {
    runsLong: true,
    access: "person",
    summary: "Erase the signed-in user's account permanently",
    query: eraseMeQuery,
    responses: { 200: erasedAnswer },
    call: () => [eraseMe()],
    respond: ([[erased]]) => dataResponse(200, JSON.stringify({ id: erased?.id, erased: true })),
  }),
];
