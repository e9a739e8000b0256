import { type Sql, withDatabase } from "../../postgres/database.ts";
import { runCommand } from "../../processes/command.ts";
import { messageOf } from "../../processes/start-error.ts";
import type { Asked, Checked, Project } from "./checks.ts";
import { readEnvFile } from "./env-file.ts";
import { steps } from "./steps.ts";
import { openTarget, type Target } from "./target.ts";

export interface Finding {
  step: number;
  what: string;
  ok: boolean;
  result: string;
}

/** Checks a project against the steps of a deployment; changes nothing. */
export const checkDeployment = (project: Project) =>
  withDatabase(project.databaseUrl, (sql) => look({ secrets: {}, ...project, sql }));

/** Checks by SQL. */
export const checkDatabase = (sql: Sql, databaseUrl: string, secrets: Record<string, string> = {}) =>
  look({ sql, databaseUrl, secrets }, ["database"]);

/** Checks against what auth publishes about itself. */
export const checkAuth = (project: Omit<Project, "databaseUrl">) =>
  look({ secrets: {}, ...project } as Checked, ["auth"]);

/** Checks where the pages are. */
export const checkSite = (secrets: Record<string, string>) => look({ secrets } as Checked, ["site"]);

/** What the inspections of the steps find. */
export async function look(project: Checked, asked?: Asked[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  let isReachable = true;
  for (const { step, inspect } of steps) {
    for (const { what, asks, holds, applies } of inspect) {
      if ((asked && !asked.includes(asks)) || applies?.(project) === false) continue;
      // Without the database no other check of it is possible.
      if (asks === "database" && !isReachable) continue;
      const found = await holds(project).then(
        (result) => ({ ok: true, result }),
        (error: unknown) => ({ ok: false, result: messageOf(error) }),
      );
      if (step === 1) isReachable = found.ok;
      findings.push({ step, what, ...found });
    }
  }
  return findings;
}

/** What deploy would still do, or why it would stop, as findings. */
async function lookAtPlans(target: Target): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { step, plan } of steps) {
    const found = (result: string) => findings.push({ step, what: "npm run deploy", ok: false, result });
    try {
      for (const { says, apply } of (await plan?.(target)) ?? []) if (apply) found(`it would ${says}`);
    } catch (error) {
      found(`it would stop: ${messageOf(error)}`);
      break;
    }
  }
  return findings;
}

async function findingsOf([databaseUrl, api, publishableKey]: string[]): Promise<Finding[]> {
  if (databaseUrl) {
    const { values: secrets } = await readEnvFile("feedback.env");
    if (secrets.DATABASE_CA) process.env.DATABASE_CA ??= secrets.DATABASE_CA;
    return checkDeployment({ databaseUrl, api: api?.replace(/\/+$/, ""), publishableKey, secrets });
  }
  const target = await openTarget({ environment: process.env, folder: process.cwd(), say: console.log });
  try {
    return [...(await look(target)), ...(await lookAtPlans(target))];
  } finally {
    await target.close();
  }
}

await runCommand(import.meta.url, async (words) => {
  const findings = await findingsOf(words);
  for (const { step, what, ok, result } of findings)
    console.log(`${ok ? "ok  " : "fail"} ${String(step).padStart(2)} ${what}: ${result}`);
  return findings.every(({ ok }) => ok);
});
