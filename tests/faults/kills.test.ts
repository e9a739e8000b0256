import { expect, test } from "vitest";
import { ownStack } from "../own-stack.ts";
import { dataApiPid, functionsPid, realtimePid } from "../processes.ts";
import { until } from "../until.ts";

const own = await ownStack({ parts: ["auth", "rest", "realtime", "web", "webhook-dispatch", "mail-dispatch"] });

const services = {
  // It reads from the database, and no limit of requests applies to it.
  api: "/api/ready",
  web: "/health",
  auth: "/auth/v1/health",
  "data API": "/rest/v1/organizations?select=id",
  "webhook-dispatch": "/functions/v1/webhook-dispatch/health",
  "mail-dispatch": "/functions/v1/mail-dispatch/health",
};

async function failing(): Promise<string[]> {
  const headers = { apikey: own.publishable_key };
  const answers = Object.entries(services).map(async ([name, path]) => {
    const status = await fetch(own.supabase_url + path, { headers }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => 0,
    );
    return status === 200 ? [] : [`${name}: ${status}`];
  });
  return (await Promise.all(answers)).flat();
}

test.each([
  ["the pages", () => functionsPid("web")],
  ["the API", () => functionsPid("api")],
  ["webhook-dispatch", () => functionsPid("webhook-dispatch")],
  ["mail-dispatch", () => functionsPid("mail-dispatch")],
  ["the data API", dataApiPid],
  ["realtime", realtimePid],
])("after kill -9 of %s all services answer again", async (_name, pidOf) => {
  process.kill(await pidOf(), "SIGKILL");
  await until(async () => (await failing()).length === 0);
  await until(async () => {
    const [walsender] = await own.sql`select from pg_stat_activity where backend_type = 'walsender'`.catch(() => []);
    return walsender !== undefined;
  });
  expect(await failing()).toEqual([]);
});
