import { createHash } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";

/** feedback.env: the functions' variables, and the digests of those that a deployment has set on the project. */
export interface EnvFile {
  values: Record<string, string>;
  /** By name; empty before the first deployment. */
  deployed: Record<string, string>;
}

const mark = "# Deployed (npm run deploy writes this line): ";
const introduction = "# Variables of the functions, with secrets: keep a copy in a safe place, and never commit it.\n";

/** Lines of NAME=value, as for supabase secrets set. */
export function parseSecrets(text: string): Record<string, string> {
  const lines = [...text.matchAll(/^[^\S\n]*([A-Z_]+)[^\S\n]*=[^\S\n]*(?:"((?:[^"\\]|\\.)*)"|(.*?))\s*$/gms)];
  return Object.fromEntries(lines.map(([, name = "", quoted, plain]) => [name, quoted ?? plain ?? ""]));
}

const textOf = (path: string, absent: string) =>
  readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return absent;
    throw error;
  });

export async function readEnvFile(path: string): Promise<EnvFile> {
  const text = await textOf(path, "");
  const marked = text.split("\n").find((line) => line.startsWith(mark));
  return { values: parseSecrets(text), deployed: marked ? JSON.parse(marked.slice(mark.length)) : {} };
}

/** Changes variables of the file and keeps its other lines. Only its owner can read it, and it is never half written. */
export async function changeEnvFile(path: string, changed: Partial<EnvFile>): Promise<void> {
  let text = await textOf(path, introduction);
  for (const [name, value] of Object.entries(changed.values ?? {})) {
    const line = `${name}=${/[\s#]/.test(value) && !value.includes('"') ? `"${value}"` : value}`;
    const former = new RegExp(`^[^\\S\\n]*${name}[^\\S\\n]*=[^\\S\\n]*(?:"(?:[^"\\\\]|\\\\.)*"|.*)[^\\S\\n]*$`, "m");
    text = former.test(text) ? text.replace(former, () => line) : `${text.trimEnd()}\n${line}\n`;
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
