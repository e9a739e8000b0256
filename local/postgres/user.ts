import { access, constants, readFile, stat } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { StartError } from "../processes/start-error.ts";

/** How to run Postgres programs: user, file owner and command prefix. */
export interface RunAs {
  process: { uid?: number; gid?: number };
  owner?: { uid: number; gid: number };
  prefix: string[];
}

/** Postgres refuses to run as root; as root, use the user postgres or nobody. */
export async function postgresUser(paths: string[]): Promise<RunAs> {
  if (process.getuid?.() !== 0) return { process: {}, prefix: [] };
  if (process.platform !== "linux") throw new StartError("Postgres does not run as root: start as another user");
  const owner = await unprivilegedUser();
  for (const path of paths) {
    if (!(await reachable(path, owner))) return { process: {}, owner, prefix: await throughFolders(path, owner) };
  }
  return { process: owner, owner, prefix: [] };
}

interface Owner {
  uid: number;
  gid: number;
}

async function unprivilegedUser(): Promise<Owner> {
  const lines = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  const user = lines.find(([name]) => name === "postgres") ?? lines.find(([name]) => name === "nobody");
  if (user === undefined)
    throw new StartError(
      "Postgres does not run as root, and there is neither a user postgres nor nobody: start as another user",
    );
  return { uid: Number(user[2]), gid: Number(user[3]) };
}

async function reachable(path: string, { uid, gid }: Owner): Promise<boolean> {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const { mode, uid: owner, gid: group } = await stat(folder);
    const bit = owner === uid ? 0o100 : group === gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

/** Inside a folder such as /root the other user needs permission to pass. */
async function throughFolders(path: string, { uid, gid }: Owner): Promise<string[]> {
  for (const folder of (process.env.PATH ?? "/usr/bin:/bin").split(delimiter)) {
    const setpriv = join(folder, "setpriv");
    if (
      await access(setpriv, constants.X_OK).then(
        () => true,
        () => false,
      )
    ) {
      return [
        setpriv,
        `--reuid=${uid}`,
        `--regid=${gid}`,
        "--clear-groups",
        "--inh-caps=+dac_override",
        "--ambient-caps=+dac_override",
      ];
    }
  }
  throw new StartError(
    `Postgres does not run as root, and another user cannot reach ${path}: start as another user, or from a folder all may enter`,
  );
}
