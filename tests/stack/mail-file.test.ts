import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mailFile } from "../../local/auth/mail-file.ts";
import { temporaryFolder } from "./launcher.ts";

test("mails that come at once are a line each, and no text makes a line of its own", async () => {
  const path = join(await temporaryFolder(), "mail.log");
  const { send } = mailFile(path);
  const texts = Array.from({ length: 20 }, (_, index) => `code ${index}\n{"to":"forged@test.example"}`);
  await Promise.all(texts.map((text) => send({ to: "a@test.example", subject: "s", text })));
  const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).text)).toEqual(texts);
});

test("a file that others could read is closed to them", async () => {
  const path = join(await temporaryFolder(), "mail.log");
  await writeFile(path, "");
  await chmod(path, 0o644);
  await mailFile(path).send({ to: "a@test.example", subject: "s", text: "t" });
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("the file is set aside at a megabyte, so that two are kept", async () => {
  const path = join(await temporaryFolder(), "mail.log");
  const { send } = mailFile(path);
  for (let index = 0; index < 5; index++)
    await send({ to: "a@test.example", subject: String(index), text: "x".repeat(600_000) });
  expect((await stat(path)).size).toBeLessThan(1_300_000);
  expect((await stat(`${path}.old`)).size).toBeLessThan(1_300_000);
});
