import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";
import type { Sql } from "../local/postgres/database.ts";
import type { Stack } from "../local/stack.ts";
import { localName, writeResults } from "./about.ts";
import { addUsers, signIn } from "./board.ts";
import { forgetPeak, functionsPid, peakMegabytes } from "./process.ts";
import { onOwnStack, say } from "./stack.ts";

// Changes the status of a submission with many followers, and measures the time until all mails are sent to an HTTP
// API, the dispatcher's memory, and votes per second during and without sending.

const { values: flags } = parseArgs({
  options: {
    followers: { type: "string", default: "10000" },
    /** Name of the result file in bench/results; *.local.json is not committed. */
    name: { type: "string", default: localName("mail") },
  },
});
const followers = Number(flags.followers);
const voters = 4;
const quietMs = 10_000;

let sent = 0;
const provider = createServer((request, response) => {
  request.resume().on("end", () => {
    sent++;
    response.end("{}");
  });
});
await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));

await onOwnStack(bench, {
  functionsEnvironment: {
    MAIL_URL: `http://:key@127.0.0.1:${(provider.address() as AddressInfo).port}/emails`,
    MAIL_FROM: "feedback@bench.example",
  },
});

async function bench(stack: Stack, sql: Sql): Promise<void> {
  await sql`update private.rate_limit_rules set max_requests = 2000000000`;
  const [admin] = await signIn(stack, await addUsers(sql, "admin", 1));
  const callers = await signIn(stack, await addUsers(sql, "caller", voters));
  await addUsers(sql, "person", followers);
  const [organization] = await sql<{ id: string }[]>`
    select private.create_organization('Bench', 'bench', 'public', ${admin?.id ?? ""}) as id`;
  if (!admin || !organization) throw new Error("no organization was made");
  const submit = async () => {
    const [made] = await sql<{ id: string }[]>`
      insert into public.submissions (organization_id, author_id, title, description, type)
      values (${organization.id}, ${admin.id}, 'A submission', 'A description that is long enough.', 'idea') returning id`;
    return made?.id ?? "";
  };
  await sql`update public.organizations set mail_enabled = true where id = ${organization.id}`;
  const [followed, other] = [await submit(), await submit()];
  await sql`
    insert into public.follows (organization_id, submission_id, user_id, reason)
    select ${organization.id}, ${followed}, id, 'manual' from public.profiles where email like 'person-%'`;
  await sql`analyze public.follows`;

  const votesUntil = async (ended: () => boolean) => {
    let votes = 0;
    const startedAt = performance.now();
    await Promise.all(
      callers.map(async ({ token }, n) => {
        for (let turn = n; !ended(); turn++) {
          const response = await fetch(`${stack.base_url}/api/submissions/${other}/vote`, {
            method: turn % 2 ? "POST" : "DELETE",
            headers: { authorization: `Bearer ${token}` },
          });
          await response.arrayBuffer();
          if (!response.ok) throw new Error(`a vote was answered ${response.status}`);
          votes++;
        }
      }),
    );
    return votes / ((performance.now() - startedAt) / 1000);
  };
  const quiet = async () => {
    const until = performance.now() + quietMs;
    return votesUntil(() => performance.now() > until);
  };

  // Other load on the machine affects all phases of a round alike, so ratios within a round are compared.
  const pid = await functionsPid("mail-dispatch");
  await quiet();
  const idle = await peakMegabytes(pid);
  await forgetPeak(pid);
  const rounds = [];
  for (const status of ["completed", "planned", "in_progress"]) {
    const before = await quiet();
    sent = 0;
    const startedAt = performance.now();
    const change = await fetch(`${stack.base_url}/api/submissions/${followed}/status`, {
      method: "PATCH",
      headers: { authorization: `Bearer ${admin.token}`, "content-type": "application/json" },
      body: JSON.stringify({ status, note: "It is there." }),
    });
    const changeMs = Math.round(performance.now() - startedAt);
    if (!change.ok) throw new Error(`the change of status was answered ${change.status}`);
    const meanwhile = await votesUntil(() => sent >= followers);
    const seconds = (performance.now() - startedAt) / 1000;
    const after = await quiet();
    rounds.push({
      sent,
      change_of_status_ms: changeMs,
      seconds_until_all_are_sent: Math.round(seconds),
      mails_per_second: Math.round(followers / seconds),
      votes_per_second: {
        before: Math.round(before),
        meanwhile: Math.round(meanwhile),
        after: Math.round(after),
      },
      ratio: Math.round((meanwhile / ((before + after) / 2)) * 100) / 100,
    });
  }
  const ratios = rounds.map(({ ratio }) => ratio).sort((a, b) => a - b);
  const results = {
    followers,
    dispatcher_megabytes: { idle, peak: await peakMegabytes(pid) },
    votes_ratio: { median: ratios[1], lowest: ratios[0], highest: ratios[2], aim: 0.8 },
    rounds,
  };
  say(JSON.stringify(results, null, 2));
  await writeResults(flags.name, sql, {}, { results });
}
