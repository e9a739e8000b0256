import { type AdminArea, doneByAdmins, forAdmins } from "./callers.ts";

export const brandArea: AdminArea = {
  name: "brand",
  pages: [["/settings/brand", forAdmins]],
  forms: [["/settings/brand", { _method: "patch", brand_color: "#0f766e" }, doneByAdmins]],
  places: async () => [{ name: "admin, brand", path: "/admin/settings/brand", as: "owner" }],
};
