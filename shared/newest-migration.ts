/** Version of the newest file in supabase/migrations, which the functions need; a test compares the two. */
export const newestMigration = "20261126212408";
