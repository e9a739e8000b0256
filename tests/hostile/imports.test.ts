import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { api } from "../api/client.ts";
import { newKey, newOrganization } from "../api/world.ts";
import { sql } from "../stack.ts";

const file = JSON.stringify({
  kind: "submission",
  id: "1",
  title: "Imported twice",
  description: "By two who do not know of each other.",
  type: "idea",
});

test("imports that wait for one another hold no connection meanwhile", async () => {
  const organization = await newOrganization();
  const key = await newKey(organization, ["submissions:moderate"]);
  const lock = sql`hashtextextended(${`import ${organization.id}`}, 0)`;
  const waiting = async () => {
    const rows = await sql`
      select from pg_locks l where l.locktype = 'advisory' and not l.granted and l.objsubid = 1
        and (l.classid::bigint << 32 | l.objid::bigint) = ${lock}`;
    return rows.length;
  };
  const started = async () => {
    const rows = await sql`select from private.imports where organization_id = ${organization.id}`;
    return rows.length;
  };
  const headers = { "content-type": "application/x-ndjson" };
  const ended = await sql.begin(async (holder) => {
    await holder`select pg_advisory_xact_lock(${lock})`;
    const imports = [1, 2, 3].map(() => api("POST", "/api/admin/import", { as: key, raw: file, headers }));
    while ((await started()) < imports.length) await sleep(10);
    for (let look = 0; look < 20; look++, await sleep(20)) expect(await waiting()).toBe(0);
    return { imports };
  });
  const statuses = (await Promise.all(ended.imports)).map(({ status }) => status);
  expect(statuses).toEqual([201, 201, 201]);
  expect(await sql`select from public.submissions where organization_id = ${organization.id}`).toHaveLength(
    1,
  );
});
