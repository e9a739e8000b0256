import type { Maker } from "./maker.ts";

export const surveys = {} satisfies Record<string, Maker>;
