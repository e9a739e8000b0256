import type { Maker } from "./maker.ts";

export const webhooks = {} satisfies Record<string, Maker>;
