import { randomUUID } from "node:crypto";
import { Agent } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { denoProgram } from "../../local/functions/process.ts";
import { root } from "../../local/postgres/database-server.ts";
import { spawnChild } from "../../local/processes/child-process.ts";
import { choosePort } from "../../local/processes/ports.ts";
import { cookieHeader } from "../browsers/session.ts";
import { send } from "../http.ts";
import { until } from "../until.ts";
import { type Project, startProject } from "./project.ts";

// The addresses of the API that the functions show on hosted Supabase, where PORT is not set.

let project: Project;
let cookie: string;
let agentId: string;
const agent = new Agent();

beforeAll(async () => {
  project = await startProject();
  const { sql } = project;
  const owner = randomUUID();
  await sql`insert into auth.users (id, email, aud, role) values (${owner}, 'olive@test.example', 'authenticated', 'authenticated')`;
  const [created] = await sql<{ id: string }[]>`
    insert into public.organizations (slug, name, is_default) values ('acme', 'Acme', true) returning id`;
  const organization = created?.id ?? "";
  await sql`insert into public.memberships (organization_id, user_id, role) values (${organization}, ${owner}, 'owner')`;
  const [made] = await sql<{ id: string }[]>`select private.create_agent(${organization}, 'Agent of a test') as id`;
  agentId = made?.id ?? "";
  const access_token = await project.signIn(owner, project.keys.known);
  cookie = cookieHeader([{ name: "__Host-sb-127-auth-token", value: JSON.stringify({ access_token }) }]);
});

afterAll(async () => {
  agent.destroy();
  await project?.remove();
});

async function start(name: "api" | "web", environment: Record<string, string>) {
  const port = await choosePort(0, "PORT");
  const flags = ["--quiet", "--no-prompt", "--config=deno.json", "--allow-net", "--allow-env", `--allow-read=${root}`];
  const child = spawnChild([denoProgram(), "run", ...flags, join("functions", name, "index.ts")], {
    signal: "TERM",
    cwd: root,
    output: ["pipe", "pipe"],
    env: {
      PATH: process.env.PATH ?? "",
      DENO_DIR: join(root, "node_modules", ".cache", "deno"),
      DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${port}`,
      ...project.environment,
      ...environment,
    },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk: Buffer) => {
      output += chunk;
    });
  const base = `http://127.0.0.1:${port}/${name}`;
  await until(async (): Promise<boolean> => {
    if (!child.running()) throw new Error(`${name} ended: ${output}`);
    return fetch(`${base}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  });
  return {
    ask: (method: string, path: string, raw?: string) =>
      send(method, base + path, {
        agent,
        raw,
        headers: { cookie, origin: "https://feedback.example", "content-type": "application/x-www-form-urlencoded" },
      }),
    stop: () => child.stop(5_000),
  };
}

test.each([
  ["the functions", {}, (): string => `${project.environment.SUPABASE_URL}/functions/v1`],
  ["the pages, behind their proxy", { PROXY_SECRET: "a secret of both" }, (): string => "https://feedback.example"],
])("the address of the API is that of %s", async (_, environment: Record<string, string>, expected: () => string) => {
  const [web, api] = await Promise.all([start("web", environment), start("api", environment)]);
  try {
    expect((await api.ask("GET", "/openapi.json")).body).toMatchObject({ servers: [{ url: expected() }] });
    const { text } = await web.ask("GET", `/admin/settings/agents/${agentId}`);
    const shown = [...text.matchAll(/https?:[\w.:/-]+\/api\/mcp/g)].map(([url]) => url);
    expect(new Set(shown)).toEqual(new Set([`${expected()}/api/mcp`]));
    const fields = { form_id: randomUUID(), name: "backend", scopes: "submissions:read" };
    const made = await web.ask("POST", "/admin/settings/api-keys", new URLSearchParams(fields).toString());
    expect(made.text).toContain(`curl ${expected()}/api/submissions `);
  } finally {
    await Promise.all([web.stop(), api.stop()]);
  }
});
