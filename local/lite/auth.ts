import { createAuthGuard } from "../auth/guard.ts";
import { openLimits } from "../auth/limits.ts";
import { changeLite } from "../auth/lite-service.ts";
import { mailFile } from "../auth/mail-file.ts";
import { tokenSecrets } from "../auth/token-secrets.ts";
import { authConfig, tokenIssuer } from "./auth-config.ts";
import { loadLite } from "./load.ts";
import { type LiteOptions, runService, type Service, tellTrouble } from "./process.ts";

/** Its own connections, so that no statement of the data API keeps anybody from signing in. */
const poolSize = 4;

runService("auth", openAuth);

/** GoTrue's protocol by @supabase/lite, on a login that may use the sign-in tables and nothing else. */
async function openAuth({ databaseUrl, secrets, siteUrl, guard: options }: LiteOptions): Promise<Service> {
  if (options === undefined) throw new Error("auth needs its limits");
  const { App, createPostgresConnection } = await loadLite();
  const connection = createPostgresConnection({
    url: databaseUrl,
    postgresOptions: {
      max: poolSize,
      onnotice: () => undefined,
      connection: { application_name: "auth" },
    },
  });
  const tokens = tokenSecrets(secrets.jwt_secret);
  const app = new App({
    connection,
    auth: authConfig(secrets, siteUrl),
    api: { enabled: false },
    db: { migrations: { enabled: false } },
    storage: { enabled: false },
    studio: { enabled: false },
    options: {
      server: {
        disableStudio: true,
        admin: false,
        middlewares: [changeLite(tokens, secrets.jwt_secret, tokenIssuer)],
      },
      drivers: { email: mailFile(options.mailPath) },
    },
  });
  await app.init();
  const limits = openLimits(options.databaseUrl, options.addressHashKey);
  const guard = createAuthGuard({
    limits,
    secrets: tokens,
    jwtSecret: secrets.jwt_secret,
    publishableKey: secrets.publishable_key,
    onTrouble: tellTrouble,
  });
  return {
    answer: (request, clientAddress) => guard(request, clientAddress, async (call) => app.fetch(call)),
    async close() {
      await limits.close();
      await connection.close();
    },
  };
}
