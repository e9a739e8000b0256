import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults, RunOptions } from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const phone = { width: 360, height: 740 };

/** Expects no axe-core violations, first on a wide light page and then on a dark phone page, which stays at the end. */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(axe);
  expect(await findings(page), "light and wide").toEqual([]);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize(phone);
  expect(await findings(page), "dark and narrow").toEqual([]);
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  expect(overflow, "px that a phone scrolls sideways").toBe(0);
}

/** Each violation: the rule, and the element. */
async function findings(page: Page): Promise<string[]> {
  const { violations } = await page.evaluate(() =>
    (window as unknown as { axe: { run(options: RunOptions): Promise<AxeResults> } }).axe.run({
      resultTypes: ["violations"],
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    }),
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`),
  );
}
