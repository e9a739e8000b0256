import { authConfig } from "./auth-config.ts";
import { loadLite } from "./load.ts";
import { type LiteOptions, runService, type Service } from "./process.ts";

/** Its own connections, so that no statement of the data API keeps anybody from signing in. */
const poolSize = 4;

runService("auth", openAuth);

/** GoTrue's protocol by @supabase/lite, on a login that may use the sign-in tables and nothing else. */
async function openAuth({ databaseUrl, secrets, siteUrl }: LiteOptions): Promise<Service> {
  const { App, createPostgresConnection } = await loadLite();
  const connection = createPostgresConnection({
    url: databaseUrl,
    postgresOptions: {
      max: poolSize,
      onnotice: () => undefined,
      connection: { application_name: "auth" },
    },
  });
  const app = new App({
    connection,
    auth: authConfig(secrets, siteUrl),
    api: { enabled: false },
    db: { migrations: { enabled: false } },
    storage: { enabled: false },
    studio: { enabled: false },
    options: { server: { disableStudio: true, admin: false } },
  });
  await app.init();
  return { answer: (request) => app.fetch(request), close: () => connection.close() };
}
