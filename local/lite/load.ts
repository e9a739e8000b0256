/** Loads @supabase/lite, which takes most of a second: while Postgres starts, and not at all by a start that is refused. */
export async function loadLite() {
  // lite puts its own in its place, which fails on a warning that is an Error and would end the launcher.
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
