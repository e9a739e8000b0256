// `npm start`: start.ts as plain JavaScript, so that no compiler stays in its process.
import { compileProgram } from "./compile.mjs";

await import(compiled());

function compiled() {
  try {
    return compileProgram("local/start.ts");
  } catch (error) {
    console.error(`Cannot continue: ${error instanceof Error ? error.message : error}`);
    process.exit(1);
  }
}
