import type { Maker } from "./maker.ts";

export const agents = {} satisfies Record<string, Maker>;
