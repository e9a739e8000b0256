type Line = { requestId: string; method?: string; route?: string; caller?: string; status?: number; startedAt?: number; error?: unknown };

/** One line of JSON a request, and one an error. No addresses, bodies, names or credentials. */
export function log({ error, startedAt, ...line }: Line) {
  const duration = startedAt === undefined ? undefined : { duration_ms: Math.round((performance.now() - startedAt) * 10) / 10 };
  if (error === undefined) console.log(JSON.stringify({ at: new Date().toISOString(), ...line, ...duration }));
  else console.error(JSON.stringify({ at: new Date().toISOString(), ...line, error: describe(error) }));
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
