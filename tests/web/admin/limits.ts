import { type AdminArea, forAdmins } from "./callers.ts";

export const limitsArea: AdminArea = {
  name: "limits",
  pages: [["/settings/limits", forAdmins]],
  forms: [],
  places: async () => [{ name: "admin, limits", path: "/admin/settings/limits", as: "owner" }],
};
