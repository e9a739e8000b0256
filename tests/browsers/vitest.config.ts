import { defineConfig } from "vitest/config";
import { default as own } from "../../vitest.config.ts";

/** `npm run test:browsers`: what needs a browser that npm does not install. */
export default defineConfig({
  test: {
    ...own.test,
    include: ["tests/browsers/*.firefox.ts"],
    globalSetup: ["tests/browsers/firefox.ts", "tests/global-setup.ts"],
  },
});
