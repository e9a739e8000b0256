import { type AdminArea, type AdminWorld, doneByAdmins, forAdmins } from "./callers.ts";

async function newOne({ organization, authorId }: AdminWorld): Promise<string> {
  const { newSubmission } = await import("../../api/world.ts");
  return newSubmission(organization, { id: authorId });
}

export const submissionsArea: AdminArea = {
  name: "submissions",
  pages: [
    ["/submissions", forAdmins],
    ["/submissions?status=planned&type=idea&sort=title&order=asc&q=word", forAdmins],
    ["/submissions/delete?ids=:submission", forAdmins],
    ["/submissions/merge", forAdmins],
    ["/submissions/merge?ids=:submission", forAdmins],
    ["/submissions/merged", forAdmins],
    ["/submissions/similar", forAdmins],
  ],
  forms: [
    ["/submissions", { ids: ":submission", action: "set_status", status: "planned" }, doneByAdmins],
    ["/submissions", { ids: ":submission", action: "delete" }, doneByAdmins],
    ["/submissions", { action: "set_category", category: "" }, "in 403 403 422 422 403"],
    ["/submissions/merge", { source_ids: ":submission", target_id: ":target" }, doneByAdmins],
    // It is not merged.
    ["/submissions/unmerge", { submission_id: ":submission" }, "in 403 403 422 422 403"],
  ],
  ids: { ":submission": newOne, ":target": newOne },
  places: async (first) => {
    const id = await first("/submissions?sort=votes&limit=1");
    return [
      { name: "admin, submissions", path: "/admin/submissions", as: "owner" },
      { name: "admin, submissions deleted", path: `/admin/submissions/delete?ids=${id}`, as: "owner" },
      { name: "admin, submissions merged", path: `/admin/submissions/merge?ids=${id}`, as: "owner" },
      { name: "admin, look-alikes", path: "/admin/submissions/similar", as: "owner" },
    ];
  },
};
