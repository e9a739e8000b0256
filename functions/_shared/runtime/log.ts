import { environment } from "./environment.ts";
import { createLogWriter, hostedLimit, noLimit } from "./log-writer.ts";

type Line = {
  requestId: string;
  method?: string;
  route?: string;
  caller?: string;
  status?: number;
  startedAt?: number;
  error?: unknown;
};

// Without a PORT the function runs on hosted workers, which limit logging.
const writer = createLogWriter(environment.port ? noLimit : hostedLimit, {
  line: (text) => console.log(text),
  error: (text) => console.error(text),
});

/** Logs one line of JSON for each request and for each error, without addresses, bodies, names or credentials. */
export function log({ error, startedAt, ...line }: Line) {
  const at = new Date().toISOString();
  if (error !== undefined) return writer.error(JSON.stringify({ at, ...line, error: describe(error) }));
  const duration =
    startedAt === undefined ? undefined : { duration_ms: Math.round((performance.now() - startedAt) * 10) / 10 };
  writer.request(JSON.stringify({ at, ...line, ...duration }));
}

/** Writes buffered lines; call it before the process ends. */
export const flushLog = writer.flush;
// Event of hosted workers before they stop.
if (!environment.port) globalThis.addEventListener?.("beforeunload", flushLog);

function describe(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  // The DETAIL of a Postgres error may quote a row; message, code and location do not.
  const { name, message, stack } = error;
  const { code, where, constraint_name } = error as Error & Record<string, unknown>;
  return { name, message, code, where, constraint_name, stack };
}

/** Logs something the operator should fix. */
export function logWarning(warning: string) {
  writer.error(JSON.stringify({ at: new Date().toISOString(), warning }));
}
