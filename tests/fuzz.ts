import fc from "fast-check";

/**
 * fast-check with one seed for all property tests, so that every run tries the same inputs. `FUZZ_SEED=<number>`
 * (or `FUZZ_SEED=random`) tries others.
 */
const { FUZZ_SEED = "20261122" } = process.env;
if (FUZZ_SEED !== "random") fc.configureGlobal({ seed: Number(FUZZ_SEED) });

/** How many of `all` runs a property gets: a quarter with the default seed, because its inputs are always the same. */
export const runs = (all: number): number => (process.env.FUZZ_SEED === undefined ? Math.ceil(all / 4) : all);

export default fc;
