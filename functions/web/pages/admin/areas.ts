import type { MemberRole } from "../../../../shared/organizations.ts";
import type { IconName } from "../../icons.ts";
import type { FrameMessages } from "../../messages/admin/index.ts";

export type AreaName = keyof FrameMessages["areas"];
export type AreaGroup = keyof FrameMessages["groups"];

export type Area = {
  /** Below /admin. */
  path: string;
  icon: IconName;
  group: AreaGroup;
  /** The lowest role that sees the area in the navigation. Each page checks its access itself. */
  role: MemberRole;
};

/** Areas of the dashboard in the order of its navigation. */
export const areas: Record<AreaName, Area> = {
  overview: { path: "", icon: "layout-dashboard", group: "work", role: "admin" },
  inbox: { path: "/inbox", icon: "inbox", group: "work", role: "admin" },
  submissions: { path: "/submissions", icon: "list", group: "work", role: "admin" },
  surveys: { path: "/surveys", icon: "clipboard-list", group: "work", role: "admin" },
  people: { path: "/people", icon: "users", group: "work", role: "member" },
  import: { path: "/import", icon: "upload", group: "data", role: "admin" },
  export: { path: "/export", icon: "download", group: "data", role: "admin" },
  audit: { path: "/audit", icon: "history", group: "data", role: "admin" },
  events: { path: "/events", icon: "activity", group: "data", role: "admin" },
  general: { path: "/settings/general", icon: "settings", group: "settings", role: "admin" },
  brand: { path: "/settings/brand", icon: "palette", group: "settings", role: "admin" },
  categories: { path: "/settings/categories", icon: "folder", group: "settings", role: "admin" },
  tags: { path: "/settings/tags", icon: "tag", group: "settings", role: "admin" },
  origins: { path: "/settings/origins", icon: "globe", group: "settings", role: "admin" },
  apiKeys: { path: "/settings/api-keys", icon: "key-round", group: "settings", role: "admin" },
  identify: { path: "/settings/identify", icon: "shield", group: "settings", role: "admin" },
  webhooks: { path: "/settings/webhooks", icon: "webhook", group: "settings", role: "admin" },
  agents: { path: "/settings/agents", icon: "bot", group: "settings", role: "admin" },
  mail: { path: "/settings/mail", icon: "mail", group: "settings", role: "admin" },
  limits: { path: "/settings/limits", icon: "gauge", group: "settings", role: "admin" },
};

const roles: MemberRole[] = ["member", "admin", "owner"];
export const isAtLeast = (role: MemberRole, least: MemberRole) => roles.indexOf(role) >= roles.indexOf(least);
