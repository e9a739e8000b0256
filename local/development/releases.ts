import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "../postgres/database-server.ts";

/**
 * supabase/releases.json: for each version, oldest first, the migrations that it added with their SHA-256. They are
 * applied to databases, so they never change.
 */
export type Releases = Record<string, Record<string, string>>;

export async function readReleases(project = root): Promise<Releases> {
  return JSON.parse(await readFile(releasesFile(project), "utf8")) as Releases;
}

export const releasesFile = (project = root) => join(project, "supabase", "releases.json");

/** The version that contains this migration; undefined if it is unreleased. */
export const releaseOf = (releases: Releases, migration: string) =>
  Object.keys(releases).find((version) => releases[version]?.[migration] !== undefined);

export async function digestOf(project: string, migration: string): Promise<string | null> {
  const text = await readFile(join(project, "supabase", "migrations", migration)).catch(() => null);
  return text && createHash("sha256").update(text).digest("hex");
}

/** A line for each released migration that was changed or removed. */
export async function changedReleases(project = root): Promise<string[]> {
  const problems: string[] = [];
  for (const [version, migrations] of Object.entries(await readReleases(project))) {
    for (const [migration, digest] of Object.entries(migrations)) {
      if ((await digestOf(project, migration)) === digest) continue;
      problems.push(
        `supabase/migrations/${migration} was released with ${version} and must not change: restore it, and run npm run db:migration for the change`,
      );
    }
  }
  return problems;
}
