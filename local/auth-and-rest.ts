import { AsyncLocalStorage } from "node:async_hooks";
import { authConfig } from "./auth-config.ts";
import type { Secrets } from "./data-folder.ts";

export interface AuthAndRest {
  /** Answers /auth/v1 and /rest/v1; never hand it /_system. */
  fetch(request: Request): Promise<Response>;
  close(): Promise<void>;
}

/**
 * @supabase/lite on a login that owns nothing. As owner or superuser its first request would grant everything to
 * the API roles and so undo column grants; it believes here that this is done, and could not do it.
 */
export async function openAuthAndRest(url: string, secrets: Secrets, siteUrl: string): Promise<AuthAndRest> {
  const { App, createPostgresConnection } = await import("./lite.ts");
  const connection = createPostgresConnection({
    url,
    postgresOptions: { max: 10, onnotice: () => undefined },
  });
  Object.assign(connection, { rlsState: "active" });
  const app = new App({
    connection,
    auth: authConfig(secrets, siteUrl),
    api: { enabled: true, schemas: ["public"], extra_search_path: ["public", "extensions"], max_rows: 1000 },
    db: { migrations: { enabled: false } },
    storage: { enabled: false },
    studio: { enabled: false },
    options: { server: { disableStudio: true, admin: false } },
  });
  await app.init();
  await connection.clearSchemaCache();
  const answer = (request: Request) => withoutErrorOutput(() => app.fetch(request));
  await warmUp(answer, secrets);
  return { fetch: answer, close: () => connection.close() };
}

/** The first request reads the schema, which takes a while. */
async function warmUp(answer: AuthAndRest["fetch"], secrets: Secrets): Promise<void> {
  const response = await answer(
    new Request("http://127.0.0.1/rest/v1/organizations?select=id&limit=0", {
      headers: { apikey: secrets.publishable_key },
    }),
  );
  await response.arrayBuffer();
}

// lite prints every refused statement, rows and all; Postgres's own log has what is needed of it.
const insideLite = new AsyncLocalStorage<true>();
const printError = console.error;
console.error = (...parts: unknown[]) => {
  if (!insideLite.getStore()) printError(...parts);
};

function withoutErrorOutput<Result>(use: () => Promise<Result>): Promise<Result> {
  return insideLite.run(true, use);
}
