import { lstat, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeTemporaryFolder } from "../../local/folders/temporary-folder.ts";
import { changeEnvFile, parseSecrets, readEnvFile } from "../../local/operator/deploy/env-file.ts";

let folder: string;
let file: string;
beforeAll(async () => {
  folder = await makeTemporaryFolder("env");
  file = join(folder, "feedback.env");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("feedback.env", () => {
  test.each([
    ["a comment after a value", "A=1 # note\nB= # note\nC=x#y", { A: "1", B: "", C: "x#y" }],
    ["quotes", `A='x "y" # z'\nB="a b" # note\nC="a\nD=b"`, { A: 'x "y" # z', B: "a b", C: "a\nD=b" }],
    ["a name in quotes", 'MAIL_FROM="Acme" <a@b.example>', { MAIL_FROM: '"Acme" <a@b.example>' }],
    ["export, spaces and lines of Windows", '\uFEFFexport A=1\r\n  B = 2 \r\nC="3"\r\n', { A: "1", B: "2", C: "3" }],
    ["digits in names", "A2B=1", { A2B: "1" }],
    ["several lines of one name", "A=1\nA=2", { A: "2" }],
  ])("is read with %s", (_, text, values) => expect(parseSecrets(text)).toEqual(values));

  test.each([
    ["https://:k#y$1$&@mail.example/a"],
    ['"Acme" <a@b.example>'],
    ["ends with \\ and a space"],
    ["'single'"],
    ["two\nDATABASE_URL=lines"],
    ['"'],
    [""],
  ])("keeps %j", async (value) => {
    await writeFile(file, "# first\nB=1\nexport A='former' # note\nA=second\nC=3");
    await changeEnvFile(file, { values: { A: value }, deployed: { A: "d" } });
    await changeEnvFile(file, { values: { A: value } });
    expect(await readEnvFile(file)).toEqual({ values: { A: value, B: "1", C: "3" }, deployed: { A: "d" } });
    expect(await readFile(file, "utf8")).toMatch(/^# first\nB=1\nA=/);
  });

  test("refuses what it cannot hold, without the value", async () => {
    const changed = changeEnvFile(file, { values: { MAIL_FROM: `it's "x"` } });
    await expect(changed).rejects.toThrow(/^feedback.env cannot hold MAIL_FROM, which has ' beside " or \\: leave/);
  });

  test("that is a link stays one, and only its owner reads where it leads", async () => {
    const link = join(folder, "link.env");
    await writeFile(file, "A=1\n", { mode: 0o644 });
    await symlink(file, link);
    await changeEnvFile(link, { values: { A: "2" } });
    expect((await lstat(link)).isSymbolicLink()).toBe(true);
    expect([await readFile(file, "utf8"), (await stat(file)).mode & 0o777]).toEqual(["A=2\n", 0o600]);
  });

  test("with a damaged line of digests says which", async () => {
    await writeFile(file, "A=1\n# Deployed (npm run deploy writes this line): {<<<<\n");
    await expect(readEnvFile(file)).rejects.toThrow(/damaged line \(# Deployed .*: restore it from your copy/);
  });
});
