import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { scopes } from "../../shared/scopes.ts";
import type { DataFolder } from "../folders/data-folder.ts";
import type { Sql } from "../postgres/database.ts";
import { messageOf, StartError } from "../processes/start-error.ts";
import { createAgentKey, createApiKey } from "./api-keys.ts";
import { createAccount } from "./create-account.ts";

export interface Demo {
  organization: { id: string; slug: string };
  password: string;
  users: typeof demoUsers;
  api_keys: { full: string; read_only: string };
  agent_keys: { standard: string };
}

const demoUsers = {
  owner: "owner@demo.example",
  member: "member@demo.example",
  alice: "alice@demo.example",
  bob: "bob@demo.example",
};
const names = { owner: "Ingrid Halvorsen", member: "Mateo Rivas", alice: "Alice Fairbank", bob: "Bob Tremaine" };

/** Seeds a folder whose first start requested it; an interrupted attempt is repeated, a complete one is not. */
export async function seedDemo(
  sql: Sql,
  auth: Parameters<typeof createAccount>[0],
  folder: DataFolder,
  file: string,
  onProgress: (step: string) => void,
): Promise<Demo | null> {
  if (folder.secrets.seed === "none") return null;
  if (!(await isSeeded(sql, file))) {
    onProgress("demo data");
    for (const role of ["owner", "member", "alice", "bob"] as const) {
      await createAccount(auth, { email: demoUsers[role], password: folder.secrets.demo_password, name: names[role] });
    }
    await loadSeed(sql, folder, file);
  }
  const [organization] = await sql<
    Demo["organization"][]
  >`select id, slug from public.organizations order by created_at, id limit 1`;
  const { demo_password, demo_api_keys, demo_agent_keys } = folder.secrets;
  if (organization === undefined || demo_api_keys === undefined || demo_agent_keys === undefined) return null;
  return {
    organization,
    password: demo_password,
    users: demoUsers,
    api_keys: demo_api_keys,
    agent_keys: demo_agent_keys,
  };
}

// The table in which the Supabase CLI records seed files.
async function isSeeded(sql: Sql, file: string): Promise<boolean> {
  await sql`create table if not exists supabase_migrations.seed_files (path text not null primary key, hash text not null)`;
  const rows = await sql`select 1 from supabase_migrations.seed_files where path = ${recordedPath(file)}`;
  return rows.length > 0;
}

async function loadSeed(sql: Sql, folder: DataFolder, file: string): Promise<void> {
  const text = await readFile(file, "utf8");
  const digest = createHash("sha256").update(text).digest("hex");
  try {
    await sql.begin(async (transaction) => {
      await transaction.unsafe(text);
      const [organization] = await transaction<
        { id: string }[]
      >`select id from public.organizations order by created_at, id limit 1`;
      if (organization === undefined) throw new Error("it made no organization");
      const full = await createApiKey(transaction, organization.id, "Demo: every scope", scopes);
      const reading = scopes.filter((scope) => scope.endsWith(":read"));
      const readOnly = await createApiKey(transaction, organization.id, "Demo: read only", reading);
      const standard = await createAgentKey(transaction, organization.id, "Demo agent", "standard", scopes);
      await transaction`insert into supabase_migrations.seed_files (path, hash) values (${recordedPath(file)}, ${digest})`;
      // Stored before the commit: a crash in between creates new keys instead of losing them.
      await folder.saveSecrets({ demo_api_keys: { full, read_only: readOnly }, demo_agent_keys: { standard } });
    });
  } catch (error) {
    throw new StartError(`the demo data in ${file} could not be loaded: ${messageOf(error)}`);
  }
}

const recordedPath = (file: string) => file.slice(file.lastIndexOf("supabase/"));
