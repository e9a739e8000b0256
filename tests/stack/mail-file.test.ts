import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mailFile } from "../../local/auth/mail-file.ts";
import { startMailCapture } from "../../local/functions/mail-capture.ts";
import { raw } from "../raw.ts";
import { temporaryFolder } from "./launcher.ts";

test("concurrent mails are one line each, and text cannot add a line", async () => {
  const path = join(await temporaryFolder(), "mail.log");
  const { send } = mailFile(path, "http://site.example");
  const texts = Array.from({ length: 20 }, (_, index) => `code ${index}\n{"to":"forged@test.example"}`);
  await Promise.all(texts.map((text) => send({ to: "a@test.example", subject: "s", text })));
  const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line).text)).toEqual(texts);
});

test("a file that others can read is made private", async () => {
  const path = join(await temporaryFolder(), "mail.log");
  await writeFile(path, "");
  await chmod(path, 0o644);
  await mailFile(path, "http://site.example").send({ to: "a@test.example", subject: "s", text: "t" });
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("the file is rotated at one megabyte, and two are kept", async () => {
  const path = join(await temporaryFolder(), "mail.log");
  const { send } = mailFile(path, "http://site.example");
  for (let index = 0; index < 5; index++)
    await send({ to: "a@test.example", subject: String(index), text: "x".repeat(600_000) });
  expect((await stat(path)).size).toBeLessThan(1_300_000);
  expect((await stat(`${path}.old`)).size).toBeLessThan(1_300_000);
});

test("a wrong password for captured mails is refused, also one of other letters and the right length", async () => {
  const capture = await startMailCapture(await temporaryFolder());
  const { port, password } = new URL(capture.url);
  try {
    for (const wrong of ["é".repeat(password.length), "x".repeat(password.length), ""]) {
      const head = `POST /emails HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${wrong}\r\n\r\n`;
      expect(await raw(head, { port })).toMatch(/^HTTP\/1.1 401 /);
    }
  } finally {
    await capture.stop();
  }
});
