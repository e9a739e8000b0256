import { type AdminArea, type AdminWorld, doneByAdmins, forAdmins } from "./callers.ts";

async function waiting({ organization, authorId }: AdminWorld): Promise<string> {
  const { newSubmission, textOf } = await import("../../api/world.ts");
  const { sql } = await import("../../stack.ts");
  const id = await newSubmission(organization, { id: authorId });
  await sql`update public.submissions set moderation_state = 'pending' where id = ${id}`;
  return `${id}@${await textOf(id)}`;
}

export const inboxArea: AdminArea = {
  name: "inbox",
  pages: [
    ["/inbox", forAdmins],
    ["/inbox?state=spam&type=comment", forAdmins],
  ],
  forms: [
    ["/inbox", { items: "submission::submission", action: "approve" }, doneByAdmins],
    ["/inbox", { items: "", action: "approve" }, "in 403 403 422 422 403"],
  ],
  ids: { ":submission": waiting },
  places: async () => [{ name: "admin, inbox", path: "/admin/inbox", as: "owner" }],
};
