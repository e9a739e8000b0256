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

// Without a port of its own a function runs on the platform's workers, which limit what is logged.
const writer = createLogWriter(environment.port ? noLimit : hostedLimit, {
  line: (text) => console.log(text),
  error: (text) => console.error(text),
});

/** One line of JSON a request, and one an error. No addresses, bodies, names or credentials. */
export function log({ error, startedAt, ...line }: Line) {
  const at = new Date().toISOString();
  if (error !== undefined) return writer.error(JSON.stringify({ at, ...line, error: describe(error) }));
  const duration =
    startedAt === undefined
      ? undefined
      : { duration_ms: Math.round((performance.now() - startedAt) * 10) / 10 };
  writer.request(JSON.stringify({ at, ...line, ...duration }));
}

/** Writes what is collected; call it before the process ends. */
export const flushLog = writer.flush;
// What workers of hosted Supabase hear before they are ended.
if (!environment.port) globalThis.addEventListener?.("beforeunload", flushLog);

function describe(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  // Postgres's DETAIL can quote a row; message, code and place do not.
  const { name, message, stack } = error;
  const { code, where, constraint_name } = error as Error & Record<string, unknown>;
  return { name, message, code, where, constraint_name, stack };
}

/** What an operator should mend. */
export function logWarning(warning: string) {
  writer.error(JSON.stringify({ at: new Date().toISOString(), warning }));
}
