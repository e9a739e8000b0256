import { expect, test } from "vitest";
import { type Run, restartOnExit, Unrecoverable } from "../../local/processes/restart-on-exit.ts";

const ended = (message: string): Run => ({ ended: Promise.resolve(message), stop: async () => undefined });

test("each end and each failed start is reported once, and a permanent one ends the restarts", async () => {
  const warnings: string[] = [];
  const outcomes = [
    () => {
      throw new Error("the port is in use");
    },
    () => ended("it ended (code 1)"),
    () => {
      throw new Unrecoverable("the folder was removed");
    },
  ];
  const lost = await new Promise<Unrecoverable>((resolve) => {
    restartOnExit(
      ended("it ended (code 0)"),
      () => outcomes.shift()?.() ?? ended("started too often"),
      (message) => warnings.push(message),
      resolve,
    );
  });
  expect(lost.message).toBe("the folder was removed");
  expect(warnings).toEqual(["it ended (code 0)", "the port is in use", "it ended (code 1)"]);
});
