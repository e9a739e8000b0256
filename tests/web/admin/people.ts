import { randomUUID } from "node:crypto";
import { type AdminArea, type AdminWorld, doneByAdmins, forAdmins, forMembers, forOwners } from "./callers.ts";

const newMember = async ({ organization }: AdminWorld) => {
  const { newUser } = await import("../../api/world.ts");
  return (await newUser("Mia Member", { organization, role: "member" })).id;
};
const newAuthor = async ({ organization }: AdminWorld) => {
  const { newUser, newSubmission } = await import("../../api/world.ts");
  const author = await newUser("Ada Author");
  await newSubmission(organization, author);
  return author.id;
};
const newInvite = async ({ organization }: AdminWorld) => {
  const { sql } = await import("../../stack.ts");
  const [created] = await sql<{ id: string }[]>`
    insert into private.invites (organization_id, email, role, digest, invited_by)
    select ${organization.id}, gen_random_uuid() || '@example.org', 'member', sha256(gen_random_uuid()::text::bytea), user_id
    from public.memberships where organization_id = ${organization.id} and role = 'owner' returning id`;
  return created?.id ?? "";
};

const ofOrganization = { organization_id: ":organization" };

export const peopleArea: AdminArea = {
  name: "people",
  pages: [
    ["/people", forMembers],
    ["/people/members/:member", forMembers],
    ["/people/members/:member/remove", forMembers],
    ["/people/members/:member/transfer", forOwners],
    ["/people/members/:member/second-factor", forOwners],
    ["/people/invites", forAdmins],
    ["/people/invites/new", forAdmins],
    ["/people/users", forAdmins],
    ["/people/users?search=ada", forAdmins],
    ["/people/users/:author", forAdmins],
    ["/people/users/:author/erase", forAdmins],
    ["/people/users/:author/data.json", forAdmins],
  ],
  forms: [
    ["/people/members/:member", { ...ofOrganization, _method: "patch", role: "admin" }, doneByAdmins],
    ["/people/members/:member/remove", { ...ofOrganization, _method: "delete" }, doneByAdmins],
    ["/people/members/:member/second-factor", { ...ofOrganization, _method: "delete" }, "in 403 403 403 303 403"],
    // The role does not go to a team member, so that the owner of the table stays owner.
    ["/people/members/:member/transfer", { ...ofOrganization, user_id: randomUUID() }, "in 403 403 403 404 403"],
    // The response shows the link instead of redirecting.
    ["/people/invites", { ...ofOrganization, email: "new@example.org", role: "member" }, forAdmins],
    ["/people/invites/:invite", { ...ofOrganization, _method: "delete" }, doneByAdmins],
    ["/people/users/:author/trust", { _method: "put", trusted: "true" }, doneByAdmins],
    ["/people/users/:author/erase", {}, doneByAdmins],
  ],
  ids: { ":member": newMember, ":author": newAuthor, ":invite": newInvite },
  places: async () => [
    { name: "admin, people", path: "/admin/people", as: "owner" },
    { name: "admin, invites", path: "/admin/people/invites", as: "owner" },
    { name: "admin, new invite", path: "/admin/people/invites/new", as: "owner" },
    { name: "admin, users", path: "/admin/people/users", as: "owner" },
  ],
};
