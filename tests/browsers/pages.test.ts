import { expect, test } from "vitest";
import { launchBrowser } from "./browser.ts";
import { claimsOfPages, identifyIn } from "./claims.ts";

// The same claims in Firefox: npm run test:browsers.

claimsOfPages(launchBrowser);

test("the widget tells its host that the browser does not keep its cookie", async () => {
  const browser = await launchBrowser();
  try {
    const heard = await identifyIn(await browser.newPage(), (page) =>
      page.route("**/identify", (route) => route.fulfill({ status: 303, headers: { location: "/" } })),
    );
    expect(heard).toEqual(["NO_COOKIE"]);
  } finally {
    await browser.close();
  }
});
