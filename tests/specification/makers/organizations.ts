import type { Maker } from "./maker.ts";

export const organizations = {} satisfies Record<string, Maker>;
