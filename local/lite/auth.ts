import { createAuthGuard } from "../auth/guard.ts";
import { openLimits } from "../auth/limits.ts";
import { changeLite } from "../auth/lite-service.ts";
import { mailFile } from "../auth/mail-file.ts";
import { mailHook } from "../auth/mail-hook.ts";
import { tokenSecrets } from "../auth/token-secrets.ts";
import { authConfig, tokenIssuer } from "./auth-config.ts";
import { loadLite } from "./load.ts";
import { type AuthOptions, runService, type Service, sendWarning } from "./process.ts";

/** Own connections, so that the data API cannot block sign-in. */
const poolSize = 4;

runService(openAuth);

const jsonText = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

function isoTime(text: string): string {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? text : time.toISOString();
}

/** GoTrue's protocol by @supabase/lite, with a login that may use the auth tables only. */
async function openAuth({ databaseUrl, secrets, siteUrl, guard: options }: AuthOptions): Promise<Service> {
  const { App, createPostgresConnection } = await loadLite();
  const connection = createPostgresConnection({
    url: databaseUrl,
    postgresOptions: {
      max: poolSize,
      onnotice: () => undefined,
      connection: { application_name: "auth" },
      types: {
        // As auth shows times; lite would show Postgres's text.
        timestamptz: { to: 1184, from: [1184], serialize: String, parse: isoTime },
        // lite passes JSON as text, which would become a JSON string.
        jsonb: { to: 3802, from: [3802], serialize: jsonText, parse: JSON.parse },
      },
    },
  });
  const tokens = tokenSecrets(secrets.jwt_secret);
  const { sendsMail = false, mailHook: hook } = options;
  const app = new App({
    connection,
    auth: authConfig(secrets, siteUrl, sendsMail),
    api: { enabled: false },
    db: { migrations: { enabled: false } },
    storage: { enabled: false },
    studio: { enabled: false },
    options: {
      server: {
        disableStudio: true,
        admin: false,
        middlewares: [
          changeLite({
            secrets: tokens,
            jwtSecret: secrets.jwt_secret,
            issuer: tokenIssuer,
            confirmsAddresses: sendsMail,
            mail: hook && mailHook(hook, sendWarning),
          }),
        ],
      },
      drivers: { email: sendsMail ? { send: async () => {} } : mailFile(options.mailPath, options.pagesUrl) },
    },
  });
  await app.init();
  const limits = openLimits(options.databaseUrl, options.addressHashKey);
  const guard = createAuthGuard({
    limits,
    secrets: tokens,
    jwtSecret: secrets.jwt_secret,
    publishableKey: secrets.publishable_key,
    confirmsAddresses: sendsMail,
    onWarning: sendWarning,
  });
  return {
    answer: (request, clientAddress) => guard(request, clientAddress, async (call) => app.fetch(call)),
    async close() {
      await limits.close();
      await connection.close();
    },
  };
}
