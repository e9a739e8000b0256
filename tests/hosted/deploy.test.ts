import { stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type EmptyProject, startEmptyProject } from "./empty-project.ts";

let project: EmptyProject;

beforeAll(async () => {
  project = await startEmptyProject();
});
afterAll(() => project?.stop());

describe("a deployment from nothing", () => {
  test("only shows its plan with --plan", async () => {
    const before = await project.snapshot();
    const { said, error } = await project.deploy(["--plan"]);
    console.log(said, error);
    expect(error).toBeUndefined();
    expect(await project.snapshot()).toBe(before);
  });

  test("is continued after an interruption at any change", async () => {
    let last: Awaited<ReturnType<EmptyProject["deploy"]>> | undefined;
    for (let tries = 0; tries < 30; tries++) {
      last = await project.deploy(["--yes"], { interruptAt: 2 });
      console.log(last.said, last.error);
      if (last.error !== "interrupted") break;
    }
    expect(last).toMatchObject({ error: undefined, isComplete: true });
    expect((await stat(join(project.folder, "feedback.env"))).mode & 0o777).toBe(0o600);
  });
});
