import { resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the project. */
export const root = resolve(fileURLToPath(new URL("..", import.meta.url)));
