import { agentsArea } from "./agents.ts";
import { apiKeysArea } from "./api-keys.ts";
import { brandArea } from "./brand.ts";
import type { AdminArea } from "./callers.ts";
import { dataArea } from "./data.ts";
import { generalArea } from "./general.ts";
import { identifyArea } from "./identify.ts";
import { inboxArea } from "./inbox.ts";
import { labelsArea } from "./labels.ts";
import { limitsArea } from "./limits.ts";
import { mailArea } from "./mail.ts";
import { originsArea } from "./origins.ts";
import { overviewArea } from "./overview.ts";
import { peopleArea } from "./people.ts";
import { submissionsArea } from "./submissions.ts";
import { surveysArea } from "./surveys.ts";
import { webhooksArea } from "./webhooks.ts";

export const adminAreas: AdminArea[] = [
  // Work
  overviewArea,
  inboxArea,
  submissionsArea,
  surveysArea,
  peopleArea,
  // Data
  dataArea,
  // Settings
  generalArea,
  brandArea,
  labelsArea,
  originsArea,
  apiKeysArea,
  identifyArea,
  webhooksArea,
  agentsArea,
  mailArea,
  limitsArea,
];
