import { type AdminArea, forAdmins } from "./callers.ts";

export const overviewArea: AdminArea = {
  name: "overview",
  pages: [["", forAdmins]],
  forms: [],
  places: async () => [{ name: "admin, overview", path: "/admin", as: "owner" }],
};
