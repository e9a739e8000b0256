/** Loads @supabase/lite lazily, which takes most of a second: while Postgres starts, and not if the start fails. */
export async function loadLite() {
  // lite installs its own warning handler, which fails on warnings that are Errors.
  const { emitWarning } = process;
  try {
    const [{ App }, { createPostgresConnection }] = await Promise.all([
      import("@supabase/lite"),
      import("@supabase/lite/postgres"),
    ]);
    return { App, createPostgresConnection };
  } finally {
    process.emitWarning = emitWarning;
  }
}
