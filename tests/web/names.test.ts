import { expect, test } from "vitest";
import { newOrganization, newSubmission, newUser } from "../api/world.ts";
import { sql } from "../stack.ts";
import { signedIn } from "./pages.ts";

// The order of a dictionary, without regard to case and accents; a database whose order is that of bytes would write Z before a.
const order = ["äpfel", "Apple", "apple pie", "banana", "Éclair", "Zebra", "zoo", "Ёлка", "Яблоко"];
const shuffled = ["Zebra", "Яблоко", "apple pie", "zoo", "Éclair", "Apple", "Ёлка", "banana", "äpfel"];

const inOrder = (texts: string[]) => texts.filter((text) => order.includes(text));
const sorted = order.toSorted((a, b) => a.localeCompare(b, "und"));

test("people, organizations and actors are listed in the order of a dictionary", async () => {
  const organization = await newOrganization();
  const owner = await signedIn({ organization, role: "owner" });
  const base = `/o/${organization.slug}/admin`;
  for (const name of shuffled) {
    const other = await newOrganization();
    await sql`update public.organizations set name = ${name} where id = ${other.id}`;
    await sql`insert into public.memberships (organization_id, user_id, role) values (${other.id}, ${owner.userId}, 'owner')`;
    const person = await newUser(name);
    await newSubmission(organization, person);
    await sql`insert into private.audit_log (organization_id, actor_id, action, target_type, details)
      values (${organization.id}, ${person.id}, 'tag.create', 'tag', '{}')`;
  }
  const { html } = await owner.get(`${base}/audit`);
  expect(inOrder(html.querySelectorAll("#switcher li a").map(({ text }) => text.trim()))).toEqual(sorted);
  expect(inOrder(html.querySelectorAll("#actor_id option").map(({ text }) => text.trim()))).toEqual(sorted);
  const teams = await owner.get(`/o/${(await newOrganization()).slug}/admin`);
  expect(inOrder(teams.html.querySelectorAll("#teams a").map(({ text }) => text.trim()))).toEqual(sorted);
});

test("people that a search finds are listed in the order of a dictionary", async () => {
  const organization = await newOrganization();
  const owner = await signedIn({ organization, role: "owner" });
  const word = `q${organization.id.slice(0, 8)}`;
  for (const name of shuffled) await newSubmission(organization, await newUser(`${word} ${name}`));
  const { html } = await owner.get(`/o/${organization.slug}/admin/people/users?search=${word}`);
  const names = html.querySelectorAll("td .person a").map(({ text }) => text.trim().replace(`${word} `, ""));
  expect(names).toEqual(sorted);
});
