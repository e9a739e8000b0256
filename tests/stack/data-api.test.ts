import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findPostgrest, verified, withoutDataApi } from "../../local/data-api.ts";
import { startOwnStack } from "../own-stack.ts";
import { temporaryFolder } from "./launcher.ts";

test("without PostgREST everything else runs, and the data API says what to do", async () => {
  const warnings: string[] = [];
  const own = await startOwnStack({
    parts: ["rest"],
    postgrest: null,
    onWarning: (message) => warnings.push(message),
  });
  try {
    expect(warnings).toEqual([withoutDataApi]);
    const answer = await own.call("GET", "/rest/v1/organizations?select=id", {
      base: own.supabase_url,
      headers: { apikey: own.publishable_key },
    });
    expect([answer.status, answer.body]).toEqual([
      503,
      { code: "SERVICE_UNAVAILABLE", message: withoutDataApi, details: null, hint: null },
    ]);
    expect((await own.call("GET", "/api/submissions")).status).toBe(200);
  } finally {
    await own.remove();
  }
});

test("POSTGREST names another program; a path without one is an error that names the variable", async () => {
  expect(await findPostgrest("/bin/sh")).toBe("/bin/sh");
  await expect(findPostgrest("/nowhere/postgrest")).rejects.toThrow(/^POSTGREST is "\/nowhere\/postgrest": /);
  await expect(
    startOwnStack({ parts: ["rest"], postgrest: "/bin/false", withOrganization: false }),
  ).rejects.toThrow(/^the data API did not start: /);
});

test("a packaged program other than the published one does not start", async () => {
  const program = join(await temporaryFolder(), "postgrest");
  await writeFile(program, "#!/bin/sh\nexec sleep 60\n", { mode: 0o755 });
  await expect(verified(program)).rejects.toThrow(/is not the published program .* run npm ci/);
});
