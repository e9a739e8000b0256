import { agentsMessages } from "./agents/index.ts";
import { apiKeysMessages } from "./api-keys/index.ts";
import { brandMessages } from "./brand/index.ts";
import { dataMessages } from "./data/index.ts";
import { frameMessages } from "./frame/index.ts";
import { generalMessages } from "./general/index.ts";
import { inboxMessages } from "./inbox/index.ts";
import { labelsMessages } from "./labels/index.ts";
import { limitsMessages } from "./limits/index.ts";
import { mailSettingsMessages } from "./mail/index.ts";
import { originsMessages } from "./origins/index.ts";
import { overviewMessages } from "./overview/index.ts";
import { peopleMessages } from "./people/index.ts";
import { setupMessages } from "./setup/index.ts";
import { submissionsMessages } from "./submissions/index.ts";
import { surveysMessages } from "./surveys/index.ts";
import { webhooksMessages } from "./webhooks/index.ts";

/** The catalogues of the dashboard, by area, for the tests of languages. */
export const adminCatalogues = {
  frame: frameMessages,
  overview: overviewMessages,
  inbox: inboxMessages,
  submissions: submissionsMessages,
  surveys: surveysMessages,
  people: peopleMessages,
  general: generalMessages,
  brand: brandMessages,
  labels: labelsMessages,
  origins: originsMessages,
  apiKeys: apiKeysMessages,
  webhooks: webhooksMessages,
  agents: agentsMessages,
  mail: mailSettingsMessages,
  limits: limitsMessages,
  data: dataMessages,
  setup: setupMessages,
};
