import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { parseArgs } from "node:util";
import { runCommand } from "../../processes/command.ts";
import { StartError } from "../../processes/start-error.ts";
import { type Finding, look } from "./check.ts";
import { changeEnvFile } from "./env-file.ts";
import { rotated } from "./settings.ts";
import { noteDeployed, type Planned, recordDeployed, steps } from "./steps.ts";
import { openTarget, type Surroundings, type Target } from "./target.ts";

const usage = `npm run deploy [-- --plan | --yes]
npm run deploy -- rotate <variable>…     new values, such as rotate DATABASE_URL
npm run deploy -- overwrite <variable>…  the values of feedback.env, where the project has others`;

/** Brings a hosted project to this release. Returns whether every check holds. */
export async function deploy(words: string[], surroundings: Surroundings): Promise<boolean> {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: { plan: { type: "boolean" }, yes: { type: "boolean" } },
  });
  const [command, ...names] = positionals;
  if (command !== undefined && (!["rotate", "overwrite"].includes(command) || names.length === 0))
    throw new StartError(usage);
  const { say, ask } = surroundings;
  const target = await openTarget(surroundings);
  try {
    if (!values.plan) await lock(target);
    const prepared = command ? [await prepare(target, command, names)] : [];
    const planned: Planned[] = [];
    for await (const each of plans(target, prepared)) planned.push(each);
    const changes = planned.filter(({ apply }) => apply);
    for (const { says, apply } of planned) say(`${apply ? "change " : "by hand"}  ${says}`);
    if (values.plan) return true;
    if (changes.length > 0) {
      if (!values.yes && !(await isConfirmed(ask))) return false;
      for await (const { says, apply } of plans(target, prepared)) {
        if (!apply) continue;
        say(`doing    ${says}`);
        await apply();
      }
    }
    await recordDeployed(target);
    if (changes.length === 0) say("nothing to change");
    const isComplete = await report(target);
    if (changes.length > 0) for (const { says, apply } of planned) if (!apply) say(`by hand  ${says}`);
    return isComplete;
  } finally {
    await target.close();
  }
}

/** A step is planned when the changes before it are made, or skipped. */
async function* plans(target: Target, prepared: Planned[]): AsyncGenerator<Planned> {
  yield* prepared;
  for (const { plan } of steps) yield* (await plan?.(target)) ?? [];
}

/** Two deployments at once would each generate secrets. Ends with the connection. */
async function lock({ sql }: Target): Promise<void> {
  const [row] = await sql`select pg_try_advisory_lock(hashtext('npm run deploy')) as is_locked`;
  if (!row?.is_locked) throw new StartError("another deployment of this project is running: wait until it has ended");
}

/** The plan is made with the values that feedback.env gets; the deployment that follows brings them to the project. */
async function prepare(target: Target, command: string, names: string[]): Promise<Planned> {
  const { secrets, deployed, file } = target;
  const unknown = names.filter((name) => command === "overwrite" && !Object.hasOwn(secrets, name));
  if (unknown.length > 0) throw new StartError(`${unknown.join(", ")} is not in feedback.env: write it there first`);
  const values = Object.assign({}, ...names.map((name) => (command === "rotate" ? rotated(name, target) : {})));
  // A value that was changed on the project is replaced only by overwrite, or if the file has none.
  await noteDeployed(
    target,
    names.filter((name) => command === "overwrite" || !secrets[name]),
  );
  Object.assign(secrets, values);
  return {
    says: `feedback.env: ${command === "rotate" ? "make new" : "deploy its"} ${names.join(", ")}`,
    apply: () => changeEnvFile(file, { values, deployed }),
  };
}

async function isConfirmed(ask: Surroundings["ask"]): Promise<boolean> {
  if (!ask)
    throw new StartError(
      "there is no terminal to confirm the plan: pass --yes, or --plan to see it only, after npm run deploy --",
    );
  return /^y(es)?$/i.test((await ask("Deploy? [y/N] ", false)).trim());
}

async function report(target: Target): Promise<boolean> {
  const { say } = target.surroundings;
  const findings = await settled(target);
  for (const { ok, step, what, result } of findings) if (!ok) say(`fail ${step} ${what}: ${result}`);
  const { api, secrets, url } = target;
  say(`pages  ${secrets.SITE_URL}`);
  say(`API    ${api}, documented at ${api}/docs`);
  say(`checks ${findings.filter(({ ok }) => ok).length} of ${findings.length} hold; project ${url}`);
  return findings.every(({ ok }) => ok);
}

/** The findings when nothing fails, or after a minute: secrets reach running functions with a delay. */
async function settled(target: Target): Promise<Finding[]> {
  const { patience = 60_000 } = target.surroundings;
  for (const until = Date.now() + patience; ; ) {
    const findings = await look(target);
    if (findings.every(({ ok }) => ok) || Date.now() >= until) return findings;
    await new Promise((resolve) => setTimeout(resolve, 3000));
  }
}

/** Shows the typed text, unless it is a secret. */
async function askTerminal(question: string, isSecret: boolean): Promise<string> {
  process.stdout.write(question);
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({
    input: process.stdin,
    output: isSecret ? output : process.stdout,
    terminal: isSecret,
  });
  try {
    return await terminal.question("");
  } finally {
    terminal.close();
    if (isSecret) process.stdout.write("\n");
  }
}

await runCommand(import.meta.url, (words) => {
  const ask = process.stdin.isTTY && process.stdout.isTTY ? askTerminal : undefined;
  return deploy(words, { environment: process.env, folder: process.cwd(), say: console.log, ask });
});
