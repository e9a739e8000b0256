import { createHash } from "node:crypto";
import { readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { StartError } from "../../processes/start-error.ts";

/** Logins of the functions, by the variable that has the URL. */
export const logins = {
  DATABASE_URL: "feedback_api",
  WEBHOOK_DATABASE_URL: "feedback_webhooks",
  MAIL_DATABASE_URL: "feedback_mail",
};

/** feedback.env: the functions' variables, and the digests of those that a deployment has set on the project. */
export interface EnvFile {
  values: Record<string, string>;
  /** By name; empty before the first deployment. */
  deployed: Record<string, string>;
}

const mark = "# Deployed (npm run deploy writes this line): ";
const introduction = "# Variables of the functions, with secrets: keep a copy in a safe place, and never commit it.\n";

/** A line NAME=value, as supabase secrets set reads it: with export, quotes and a comment, or without. */
const lineOf = (name: string) =>
  new RegExp(
    String.raw`^[^\S\n]*(?:export[^\S\n]+)?(${name})[^\S\n]*=[^\S\n]*(?:"((?:[^"\\]|\\[^])*)"|'([^']*)'|([^\n]*?))[^\S\n]*(?:(?<=\s)#[^\n]*)?$`,
    "gm",
  );

export function parseSecrets(text: string): Record<string, string> {
  const lines = [...text.matchAll(lineOf("[A-Za-z_][A-Za-z0-9_]*"))];
  return Object.fromEntries(
    lines.map(([, name = "", double, single, plain]) => [name, double ?? single ?? plain ?? ""]),
  );
}

function quoted(name: string, value: string): string {
  if (!/[\s#"'\\]/.test(value)) return value;
  if (!/["\\]/.test(value)) return `"${value}"`;
  if (!value.includes("'")) return `'${value}'`;
  throw new StartError(`feedback.env cannot hold ${name}, which has ' beside " or \\: leave one of them out`);
}

const textOf = (path: string, absent: string) =>
  readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return absent;
    throw error;
  });

export async function readEnvFile(path: string): Promise<EnvFile> {
  const text = await textOf(path, "");
  const marked = text.split("\n").find((line) => line.startsWith(mark));
  return { values: parseSecrets(text), deployed: marked ? digestsIn(marked.slice(mark.length)) : {} };
}

function digestsIn(json: string): EnvFile["deployed"] {
  try {
    return JSON.parse(json);
  } catch {
    throw new StartError(`feedback.env has a damaged line (${mark.trim()}): restore it from your copy, or remove it`);
  }
}

/** Changes variables of the file and keeps its other lines. Only its owner can read it, and it is never half written. */
export async function changeEnvFile(file: string, changed: Partial<EnvFile>): Promise<void> {
  // A link stays one.
  const path = await realpath(file).catch(() => file);
  let text = await textOf(path, introduction);
  for (const [name, value] of Object.entries(changed.values ?? {})) {
    const line = `${name}=${quoted(name, value)}`;
    const former = lineOf(name);
    // Several lines of one name get the same value.
    text = text.search(former) >= 0 ? text.replace(former, () => line) : `${text.trimEnd()}\n${line}\n`;
  }
  const deployed = { ...(await readEnvFile(path)).deployed, ...changed.deployed };
  const kept = text.split("\n").filter((line) => !line.startsWith(mark));
  const lines = Object.keys(deployed).length > 0 ? [mark + JSON.stringify(deployed)] : [];
  await rm(`${path}.new`, { force: true });
  await writeFile(`${path}.new`, `${[kept.join("\n").trimEnd(), ...lines].join("\n")}\n`, { mode: 0o600, flag: "wx" });
  await rename(`${path}.new`, path);
}

/** As the Management API lists values. */
export const digestOf = (value: string) => createHash("sha256").update(value).digest("hex");
