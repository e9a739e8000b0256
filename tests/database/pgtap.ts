import { access, constants, mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { type PostgresFiles, putExtensionFile } from "../../local/postgres/files.ts";

const require = createRequire(import.meta.url);

/** Copies pgTAP to the other extensions; concurrent runs are safe. */
export async function addPgtap(files: PostgresFiles): Promise<void> {
  const archive = join(dirname(require.resolve("@electric-sql/pglite-pgtap")), "pgtap.tar.gz");
  const control = join(files.extensions, "pgtap.control");
  if (
    await access(control, constants.R_OK).then(
      () => true,
      () => false,
    )
  )
    return;
  await mkdir(files.extensions, { recursive: true });
  const members = tarMembers(gunzipSync(await readFile(archive))).filter(({ name }) =>
    name.includes("/extension/pgtap"),
  );
  // The control file last: if it exists, the other files do too.
  members.sort((a, b) => Number(a.name.endsWith(".control")) - Number(b.name.endsWith(".control")));
  for (const { name, content } of members) await putExtensionFile(files.extensions, basename(name), content);
}

function tarMembers(tar: Buffer): { name: string; content: Buffer }[] {
  const members = [];
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0; ) {
    const name = tar.toString("utf8", at, at + 100).replace(/\0.*$/s, "");
    const size = Number.parseInt(tar.toString("latin1", at + 124, at + 136), 8);
    members.push({ name, content: tar.subarray(at + 512, at + 512 + size) });
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return members;
}
