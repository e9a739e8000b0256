import { type AdminArea, doneByAdmins, forAdmins } from "./callers.ts";

export const originsArea: AdminArea = {
  name: "allowed origins",
  pages: [["/settings/origins", forAdmins]],
  forms: [["/settings/origins", { _method: "put", origins: "https://app.example.org" }, doneByAdmins]],
  places: async () => [{ name: "admin, origins", path: "/admin/settings/origins", as: "owner" }],
};
