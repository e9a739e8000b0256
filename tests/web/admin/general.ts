import { type AdminArea, doneByAdmins, forAdmins } from "./callers.ts";

export const generalArea: AdminArea = {
  name: "general settings",
  pages: [["/settings/general", forAdmins]],
  forms: [["/settings/general", { _method: "patch", name: "Another name" }, doneByAdmins]],
  places: async () => [{ name: "admin, general", path: "/admin/settings/general", as: "owner" }],
};
