import { withDatabase } from "../../../local/postgres/database.ts";
import { shownToAdmins } from "./api-keys.ts";
import { type AdminArea, type AdminWorld, doneByAdmins, forAdmins } from "./callers.ts";

export async function newAgent({ organization }: AdminWorld): Promise<string> {
  const { sql } = await import("../../stack.ts");
  const [agent] = await sql<{ id: string }[]>`select private.create_agent(${organization.id}, 'Agent of a test') as id`;
  return agent?.id ?? "";
}

/** The agent and a key of it, as their pages name them. */
async function newAgentKey(world: AdminWorld): Promise<string> {
  const { sql } = await import("../../stack.ts");
  const agent = await newAgent(world);
  const [key] = await sql<{ id: string }[]>`
    select private.create_agent_key(${agent}, null, '{}', sha256(gen_random_uuid()::text::bytea), 'fcs_agt_', 'abcd') as id`;
  return `${agent}/keys/${key?.id ?? ""}`;
}

const base = "/settings/agents";

export const agentsArea: AdminArea = {
  name: "agents",
  pages: [
    [base, forAdmins],
    [`${base}/new`, forAdmins],
    [`${base}/:agent`, forAdmins],
    [`${base}/:agent/edit`, forAdmins],
    [`${base}/:agent/retire`, forAdmins],
    [`${base}/:agent/policies`, forAdmins],
    [`${base}/:agent/calls`, forAdmins],
    [`${base}/:agent/keys/new`, forAdmins],
    [`${base}/:key_of_agent/rotate`, forAdmins],
    [`${base}/:key_of_agent/revoke`, forAdmins],
  ],
  forms: [
    [base, { name: "Triage", tier: "standard" }, doneByAdmins],
    [`${base}/:agent`, { _method: "patch", name: "Sorter" }, doneByAdmins],
    [`${base}/:agent/policies`, { _method: "put", read_only: "true" }, doneByAdmins],
    [`${base}/:agent/keys`, { scopes: "submissions:read" }, shownToAdmins],
    [`${base}/:key_of_agent/rotate`, {}, shownToAdmins],
    [`${base}/:key_of_agent`, { _method: "delete" }, doneByAdmins],
    [`${base}/:agent`, { _method: "delete" }, doneByAdmins],
  ],
  ids: { ":agent": newAgent, ":key_of_agent": newAgentKey },
  places: async (_first, { db_url }) => {
    const [agent] = await withDatabase(
      db_url,
      (sql) => sql<{ id: string }[]>`
        select a.id from private.agents a join public.organizations o on o.id = a.organization_id
        where o.is_default order by a.created_at limit 1`,
    );
    return [
      { name: "admin, agents", path: "/admin/settings/agents", as: "owner" },
      { name: "admin, new agent", path: "/admin/settings/agents/new", as: "owner" },
      { name: "admin, agent", path: `/admin/settings/agents/${agent?.id}`, as: "owner" },
      { name: "admin, agent's policies", path: `/admin/settings/agents/${agent?.id}/policies`, as: "owner" },
      { name: "admin, agent's calls", path: `/admin/settings/agents/${agent?.id}/calls`, as: "owner" },
    ];
  },
};
