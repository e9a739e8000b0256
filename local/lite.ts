// Loading @supabase/lite takes most of a second: it is imported only by `await import`, while Postgres starts.
export { App } from "@supabase/lite";
export { createPostgresConnection } from "@supabase/lite/postgres";
