import { withDatabase } from "../../postgres/database.ts";
import { runCommand } from "../../processes/command.ts";
import { messageOf } from "../../processes/start-error.ts";
import type { Check, Checked, Project } from "./checks.ts";
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

/** What the inspections of the steps find. */
export async function look(project: Checked): Promise<Finding[]> {
  const findings: Finding[] = [];
  let isReachable = true;
  for (const { step, inspect } of steps)
    for (const check of inspect) {
      // Without the database no other check of it is possible.
      if (check.isOfDatabase && !isReachable) continue;
      const found = await findingOf(check, project);
      if (step === 1) isReachable = found?.ok ?? false;
      if (found) findings.push({ step, ...found });
    }
  return findings;
}

/** Undefined if there is nothing to check. */
export async function findingOf({ what, holds }: Check, project: Checked): Promise<Omit<Finding, "step"> | undefined> {
  try {
    const result = await holds(project);
    return result === undefined ? undefined : { what, ok: true, result };
  } catch (error) {
    return { what, ok: false, result: messageOf(error) };
  }
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
