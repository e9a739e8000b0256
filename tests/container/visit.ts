import { access, readFile, writeFile } from "node:fs/promises";
import { launchBrowser } from "../browsers/browser.ts";

// A visitor of the container in Chromium, as run.sh asks: node --import tsx tests/container/visit.ts <what> <argument>
// The browser trusts Caddy's own authority, and keeps its cookies from one call to the next.

const { SITE = "", STATE = "" } = process.env;
const [what, argument = ""] = process.argv.slice(2);
const title = "A container that starts";

const browser = await launchBrowser(`--host-resolver-rules=MAP ${new URL(SITE).hostname} 127.0.0.1`);
try {
  const isKnown = await access(STATE).then(
    () => true,
    () => false,
  );
  const context = await browser.newContext({ ignoreHTTPSErrors: true, ...(isKnown && { storageState: STATE }) });
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  const main = page.locator("main");
  const submit = () => main.locator("form button[type=submit], form button:not([type])").last().click();

  switch (what) {
    case "setup": {
      await page.goto(`${SITE}/setup?token=${argument}`);
      const account = await main.locator("[name=email]").count();
      if (account) {
        await page.fill("main [name=name]", "Olive Owner");
        await page.fill("main [name=email]", "olive@example.org");
        await page.fill("main [name=password]", "correct horse battery");
      }
      await page.fill("main [name='organization.name']", "Acme");
      await page.fill("main [name='organization.slug']", "acme");
      await submit();
      await page.waitForURL(/\/(?:admin\/welcome|sign-in\/code)/);
      break;
    }
    case "confirm":
      await page.goto(await readFile(argument, "utf8"));
      // The other button is for somebody who asked for nothing.
      await main.locator("form button").first().click();
      await page.waitForURL(/\/setup/);
      break;
    case "vote": {
      await page.goto(`${SITE}/new`);
      await page.fill("main [name=title]", title);
      await page.fill("main [name=description]", "It starts, stops, and starts again with its data.");
      await submit();
      await page.waitForURL(/\/submissions\/[0-9a-f-]{36}/);
      const vote = main.locator("[id^=vote-] button").first();
      if ((await vote.getAttribute("aria-pressed")) === "false") await vote.click();
      await main.locator("[id^=vote-] button[aria-pressed=true]").first().waitFor();
      break;
    }
    case "look": {
      const socket = page.waitForEvent("websocket");
      await page.goto(SITE);
      await main.getByText(title).first().waitFor();
      const vote = main.locator("[id^=vote-] button[aria-pressed=true]").first();
      console.log(`${title}: ${await vote.getAttribute("aria-label")}; socket ${new URL((await socket).url()).host}`);
      break;
    }
    default:
      throw new Error(`unknown: ${what}`);
  }
  console.log(
    `${what}: ${new URL(page.url()).pathname}${problems.length > 0 ? `, with problems: ${problems.join("; ")}` : ""}`,
  );
  await writeFile(STATE, JSON.stringify(await context.storageState()), { mode: 0o600 });
  if (problems.length > 0) process.exitCode = 1;
} finally {
  await browser.close();
}
