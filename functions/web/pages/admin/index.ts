import type { Page } from "../../page.tsx";
import { agentPages } from "./agents/index.tsx";
import { apiKeyPages } from "./api-keys.tsx";
import { audit } from "./audit.tsx";
import { brandPages } from "./brand.tsx";
import { events } from "./events.tsx";
import { exportFile, exporting } from "./export.tsx";
import { generalPages } from "./general.tsx";
import { identifyPages } from "./identify.tsx";
import { importPages } from "./import.tsx";
import { inbox } from "./inbox.tsx";
import { categoryPages, tagPages } from "./labels.tsx";
import { limits } from "./limits.tsx";
import { mailPages } from "./mail.tsx";
import { mergedSubmissions, mergeSubmissions, similarSubmissions } from "./merge.tsx";
import { originPages } from "./origins.tsx";
import { overview } from "./overview.tsx";
import { peoplePages } from "./people.tsx";
import { adminSubmissions, deleteSubmissions } from "./submissions.tsx";
import { surveyPages } from "./surveys/index.ts";
import { userPages } from "./users.tsx";
import { webhookPages } from "./webhooks.tsx";
import { welcome } from "./welcome.tsx";

/** Every page and form of the dashboard. */
export const adminPages: Page[] = [
  // Work
  overview,
  inbox,
  adminSubmissions,
  deleteSubmissions,
  mergeSubmissions,
  mergedSubmissions,
  similarSubmissions,
  ...surveyPages,
  ...peoplePages,
  ...userPages,
  welcome,
  // Data
  ...importPages,
  exporting,
  exportFile,
  audit,
  events,
  // Settings
  ...generalPages,
  ...brandPages,
  ...categoryPages,
  ...tagPages,
  ...originPages,
  ...apiKeyPages,
  ...identifyPages,
  ...webhookPages,
  ...agentPages,
  ...mailPages,
  limits,
];
