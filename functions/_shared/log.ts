type Line = {
  requestId: string;
  method?: string;
  route?: string;
  caller?: string;
  status?: number;
  startedAt?: number;
  error?: unknown;
};

/** One line of JSON a request, and one an error. No addresses, bodies, names or credentials. */
export function log({ error, startedAt, ...line }: Line) {
  const duration =
    startedAt === undefined
      ? undefined
      : { duration_ms: Math.round((performance.now() - startedAt) * 10) / 10 };
  if (error === undefined) collect(JSON.stringify({ at: new Date().toISOString(), ...line, ...duration }));
  else console.error(JSON.stringify({ at: new Date().toISOString(), ...line, error: describe(error) }));
}

// Writing each line by itself costs a busy process more than the line is worth.
let lines: string[] = [];

function collect(line: string) {
  if (lines.push(line) === 1) setTimeout(flushLog, 20);
}

/** Writes what is collected, at the latest 20 ms after it was logged; call it before the process ends. */
export function flushLog() {
  if (lines.length === 0) return;
  console.log(lines.join("\n"));
  lines = [];
}

function describe(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  // Postgres's DETAIL can quote a row; message, code and place do not.
  const { name, message, stack } = error;
  const { code, where, constraint_name } = error as Error & Record<string, unknown>;
  return { name, message, code, where, constraint_name, stack };
}

/** What an operator should mend. */
export function logWarning(warning: string) {
  console.error(JSON.stringify({ at: new Date().toISOString(), warning }));
}
