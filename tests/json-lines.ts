import { readFileSync } from "node:fs";

/** The rows of a file with one JSON value on each line. */
export const jsonLines = <Row>(file: URL): Row[] =>
  readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Row);
