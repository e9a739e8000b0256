import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// These take longest and start first, so that none of them runs alone at the end; those that mostly wait are between those
// that mostly compute.
const longest = [
  "web/accessibility",
  "hostile/gateway",
  "upgrade/upgrade",
  "mcp/subscriptions",
  "stack/start",
  "faults/hangs",
  "hostile/auth",
  "faults/network",
  "mail/auth",
  "webhooks/faults",
  "docs/examples",
  "mail/accounts",
  "upgrade/migrations",
  "scale/bounded-reads",
  "hostile/dashboard",
  "limits/rules",
  "hosted/runtime",
  "realtime/crowd",
  "hostile/rest-matrix",
  "web/admin-access",
  "mail/faults",
  "realtime/tokens",
  "search/order",
  "web/submission-journeys",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = longest.findIndex((name) => moduleId.endsWith(`tests/${name}.test.ts`));
      return index < 0 ? longest.length : index;
    };
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other));
  }
}

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    globalSetup: "tests/global-setup.ts",
    setupFiles: "tests/setup.ts",
    pool: "forks",
    // Files share the modules of their process, which take longer to load than most files to run.
    isolate: false,
    // More than processors: many tests wait for time-outs and restarts.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // Tests that are marked as concurrent wait most of their time.
    maxConcurrency: 10,
    // For a standstill: on a machine that others use too, a test may take many times as long.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 40_000 } },
  },
});
