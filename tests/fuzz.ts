import fc from "fast-check";

/**
 * fast-check with one seed for all property tests, so that every run tries the same inputs. `FUZZ_SEED=<number>`
 * (or `FUZZ_SEED=random`) tries others.
 */
const { FUZZ_SEED = "20261122" } = process.env;
if (FUZZ_SEED !== "random") fc.configureGlobal({ seed: Number(FUZZ_SEED) });

export default fc;
