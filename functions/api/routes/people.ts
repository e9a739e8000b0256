import {
  erasedAnswer,
  eraseMeQuery,
  peopleAnswer,
  peopleQuery,
  personalDataAnswer,
} from "../../../shared/people.ts";
import { notFound } from "../../_shared/api-error.ts";
import { answer, endpoint } from "../../_shared/endpoint.ts";
import {
  eraseMe,
  erasePerson,
  findPeople,
  myPersonalData,
  personalData,
} from "../../_shared/statements/people.ts";

const tag = "Data protection";
const scopes = ["members:write"] as const;

/** What there is of a person; 404 where there is nobody. */
function shown(data: string | null | undefined) {
  if (!data) throw notFound("person");
  return answer(200, data);
}

export const people = [
  endpoint({
    method: "get",
    path: "/admin/people",
    tag,
    access: "caller",
    scopes: [...scopes],
    summary: "Find who has an e-mail address, as an admin",
    query: peopleQuery,
    answers: { 200: peopleAnswer },
    call: ({ query }) => [findPeople(query.email)],
    respond: ([[found]]) => answer(200, found?.data ?? "[]"),
  }),
  endpoint({
    method: "get",
    path: "/admin/people/:id/export",
    runsLong: true,
    tag,
    access: "caller",
    scopes: [...scopes],
    summary: "Show what the organization keeps of a person, as an admin",
    answers: { 200: personalDataAnswer },
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
    summary: "Forget a person, as an admin; again is not an error",
    answers: { 200: erasedAnswer },
    call: ({ params }) => [erasePerson(params.id)],
    respond: ([[data]]) => shown(data?.data),
  }),
  endpoint({
    method: "get",
    path: "/me/export",
    runsLong: true,
    tag,
    access: "person",
    summary: "Show what is kept of the signed-in user",
    answers: { 200: personalDataAnswer },
    call: () => [myPersonalData()],
    respond: ([[data]]) => shown(data?.data),
  }),
  endpoint({
    method: "delete",
    path: "/me",
    runsLong: true,
    tag,
    access: "person",
    summary: "Erase the signed-in user's account for good",
    query: eraseMeQuery,
    answers: { 200: erasedAnswer },
    call: () => [eraseMe()],
    respond: ([[erased]]) => answer(200, JSON.stringify({ id: erased?.id, erased: true })),
  }),
];
