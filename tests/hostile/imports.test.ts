import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { api } from "../api/client.ts";
import { runToEnd, sendImport } from "../api/imports.ts";
import { newKey, newOrganization } from "../api/world.ts";
import { sql } from "../stack.ts";

const file = JSON.stringify({
  kind: "submission",
  id: "1",
  title: "Imported twice",
  description: "By two who do not know of each other.",
  type: "idea",
});

test("imports that wait for each other hold no connection", async () => {
  const organization = await newOrganization();
  const key = await newKey(organization, ["submissions:moderate"]);
  const lock = sql`hashtextextended(${`import ${organization.id}`}, 0)`;
  const blockedSessions = async () => {
    const rows = await sql`
      select from pg_locks l where l.locktype = 'advisory' and not l.granted and l.objsubid = 1
        and (l.classid::bigint << 32 | l.objid::bigint) = ${lock}`;
    return rows.length;
  };
  const started = async () => {
    const rows = await sql`select from private.imports where organization_id = ${organization.id}`;
    return rows.length;
  };
  const ended = await sql.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(${lock})`;
    const imports = await Promise.all([1, 2, 3].map(() => sendImport(key, file)));
    expect(await started()).toBe(imports.length);
    // Their clients run them in addition to the schedule.
    for (const { id } of imports) api("POST", `/api/admin/imports/${id}/run`, { as: key }).catch(() => {});
    for (let look = 0; look < 20; look++, await sleep(20)) expect(await blockedSessions()).toBe(0);
    return { imports };
  });
  const done = await Promise.all(ended.imports.map(({ id }) => runToEnd(key, id)));
  expect(done.map(({ state }) => state)).toEqual(["completed", "completed", "completed"]);
  expect(await sql`select from public.submissions where organization_id = ${organization.id}`).toHaveLength(1);
});
