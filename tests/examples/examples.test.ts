import { execFile } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { root } from "../../local/postgres/database-server.ts";
import { newKey, newOrganization, newSubmission, newUser } from "../api/world.ts";
import { launchBrowser } from "../browsers/browser.ts";
import { newAgent } from "../mcp/agents.ts";
import { api, sql, stack } from "../stack.ts";

// The programs of examples/, as a reader runs them. The host application is in tests/browsers/widget.test.ts.

/** Runs an example to its end; resolves to what it printed. */
const run = (name: string, environment: Record<string, string>, input = "") =>
  new Promise<string>((resolve, reject) => {
    const child = execFile(
      process.execPath,
      [join(root, "examples", name)],
      { env: { PATH: process.env.PATH, FEEDBACK_URL: stack.supabase_url, ...environment } },
      (error, stdout, stderr) => (error ? reject(new Error(`${error.message}\n${stderr}`)) : resolve(stdout)),
    );
    child.stdin?.end(input);
  });

test("the backend makes a submission of a ticket, once, and a vote of the next one like it", async () => {
  const organization = await newOrganization();
  const { token } = await newKey(organization, ["submissions:read", "submissions:write"]);
  const ticket = (id: number, email: string) =>
    JSON.stringify({
      id,
      email,
      name: "Somebody",
      subject: "The invoice shows the wrong address",
      text: "Since Monday the invoices show the address of our former office.",
    });
  const tickets = `${ticket(1, "ann@host.example")}\n${ticket(2, "ben@host.example")}\n`;
  const said = await run("backend.mjs", { FEEDBACK_KEY: token }, tickets);
  expect(said.trim().split("\n")).toEqual([
    "1: a new submission",
    "2: a vote for “The invoice shows the wrong address”",
  ]);
  await run("backend.mjs", { FEEDBACK_KEY: token }, ticket(2, "ben@host.example"));
  const rows = await sql`select vote_count, source from public.submissions where organization_id = ${organization.id}`;
  expect(rows).toEqual([{ vote_count: 2, source: "support" }]);
});

test("the agent reviews the problem with most votes", async () => {
  const agent = await newAgent();
  const author = await newUser();
  await newSubmission(agent.organization, author, { type: "problem", title: "Loses my drafts" });
  const said = await run("agent.mjs", { FEEDBACK_AGENT_KEY: agent.token });
  expect(said).toMatch(/^“Loses my drafts” is now under review\. Votes: 1\. Mood: /);
  const [row] = await sql`select status from public.submissions where organization_id = ${agent.organization.id}`;
  expect(row?.status).toBe("under_review");
});

test("the React page shows the most wanted ideas, and follows the votes", async () => {
  const organization = await newOrganization();
  const [author, voter] = [await newUser(), await newUser()];
  await newSubmission(organization, author, { title: "Export as a calendar" });
  const id = await newSubmission(organization, author, { title: "Faster search" });
  const { outputFiles } = await build({
    entryPoints: [join(root, "examples", "react-page.jsx")],
    bundle: true,
    format: "esm",
    jsx: "automatic",
    // The folder's own settings are meant for Hono.
    tsconfigRaw: {},
    define: { "process.env.NODE_ENV": '"production"' },
    write: false,
  });
  const page = `<!doctype html><div id="ideas" data-url="${stack.supabase_url}" data-key="${stack.publishable_key}"
    data-organization="${organization.id}"></div><script type="module" src="/react-page.js"></script>`;
  const server = createServer(({ url }, response) => {
    const isScript = url === "/react-page.js";
    response.writeHead(200, { "content-type": isScript ? "text/javascript" : "text/html" });
    response.end(isScript ? outputFiles[0]?.text : page);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const browser = await launchBrowser();
  try {
    const seen = await browser.newPage();
    await seen.goto(`http://localhost:${(server.address() as AddressInfo).port}/`);
    await seen.locator("li", { hasText: "1 Faster search open" }).waitFor();
    const voted = await api(`/api/submissions/${id}/vote`, { method: "POST", token: voter.token });
    expect(voted.status).toBe(201);
    await seen.locator("li:first-child", { hasText: "2 Faster search open" }).waitFor();
  } finally {
    await browser.close();
    server.close();
    server.closeAllConnections();
  }
});
