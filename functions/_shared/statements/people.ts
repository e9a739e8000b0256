import type { Statement } from "../database.ts";

type MaybeData = { data: string | null };

export function findPeople(email: string): Statement<MaybeData> {
  return (sql) => sql`select private.admin_find_people(${email})::text as data`;
}

export function personalData(id: string): Statement<MaybeData> {
  return (sql) => sql`select private.admin_personal_data(${id})::text as data`;
}

export function erasePerson(id: string): Statement<MaybeData> {
  return (sql) => sql`select private.admin_erase_person(${id})::text as data`;
}

export function myPersonalData(): Statement<MaybeData> {
  return (sql) => sql`select private.my_personal_data()::text as data`;
}

export function eraseMe(): Statement<{ id: string }> {
  return (sql) => sql`select private.caller_id() as id, private.erase_me()`;
}
