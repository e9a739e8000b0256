import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { identifyExamples } from "../../functions/web/pages/admin/identify-examples.ts";
import { identifyAnswer } from "../../shared/identify.ts";
import { expectJson } from "../api/client.ts";
import { exchange, newSecret } from "../api/identified.ts";
import { newOrganization, newUser } from "../api/world.ts";
import { textOf } from "./markdown.ts";

const run = promisify(execFile);

const runs: Record<string, { command: string; file: string; call: string }> = {
  Node: {
    command: process.execPath,
    file: "sign.mjs",
    call: 'console.log(feedbackToken({ id: 42, email: "node@host.example", name: "Ünsal" }));',
  },
  Python: {
    command: "python3",
    file: "sign.py",
    call: 'print(feedback_token({"id": 42, "email": "node@host.example", "name": "Ünsal"}))',
  },
};

test("docs/embed.md has the examples of the dashboard", () => {
  for (const { code } of identifyExamples("acme")) expect(textOf("docs/embed.md")).toContain(`\n${code}\`\`\``);
});

for (const [name, { command, file, call }] of Object.entries(runs)) {
  // A machine without Python runs only the Node example. The Ruby, PHP and Go examples are run by hand.
  const isInstalled = spawnSync(command, ["--version"]).status === 0;
  test.runIf(isInstalled)(`the example of ${name} signs a token that is taken`, async () => {
    const organization = await newOrganization();
    const owner = await newUser("The owner", { organization, role: "owner" });
    const { secret } = await newSecret(organization, owner);
    const example = identifyExamples(organization.slug).find((known) => known.name === name);
    const folder = await mkdtemp(join(tmpdir(), "feedback-sign-"));
    try {
      await writeFile(join(folder, file), `${example?.code}\n${call}\n`);
      const env = { ...process.env, FEEDBACK_SIGNING_SECRET: secret };
      const { stdout } = await run(command, [join(folder, file)], { env });
      const { profile } = expectJson(await exchange(stdout.trim()), 201, identifyAnswer).data;
      expect(profile).toMatchObject({ name: "Ünsal", email: "node@host.example" });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
}
