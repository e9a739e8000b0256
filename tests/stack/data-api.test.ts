import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { findPostgrest, verified, withoutDataApi } from "../../local/data-api/postgrest.ts";
import { newOrganization } from "../api/world.ts";
import { startOwnStack } from "../own-stack.ts";
import { dataApiPid } from "../processes.ts";
import { sql, stack } from "../stack.ts";
import { temporaryFolder } from "./launcher.ts";

test("without PostgREST the API runs, and the data API says what to do", async () => {
  const warnings: string[] = [];
  const own = await startOwnStack({ parts: ["rest"], postgrest: null, onWarning: (message) => warnings.push(message) });
  try {
    expect(warnings).toEqual([withoutDataApi]);
    const answer = await own.call("GET", "/rest/v1/organizations?select=id", {
      base: own.supabase_url,
      headers: { apikey: own.publishable_key },
    });
    expect([answer.status, answer.body]).toEqual([
      503,
      { code: "SERVICE_UNAVAILABLE", message: withoutDataApi, details: null, hint: null },
    ]);
    expect(answer.headers["retry-after"]).toBeUndefined();
    expect((await own.call("GET", "/api/submissions")).status).toBe(200);
  } finally {
    await own.remove();
  }
});

test("POSTGREST names another program; a path without one is an error that names the variable", async () => {
  expect(await findPostgrest("/bin/sh")).toBe("/bin/sh");
  await expect(findPostgrest("/nowhere/postgrest")).rejects.toThrow(/^POSTGREST is "\/nowhere\/postgrest": /);
  await expect(startOwnStack({ parts: ["rest"], postgrest: "/bin/false", withOrganization: false })).rejects.toThrow(
    /^the data API did not start: it ended \(code 1\)$/,
  );
});

test("a packaged program other than the published one does not start", async () => {
  const program = join(await temporaryFolder(), "postgrest");
  await writeFile(program, "#!/bin/sh\nexec sleep 60\n", { mode: 0o755 });
  await expect(verified(program)).rejects.toThrow(/is not the published program .* run npm ci/);
});

test.each([
  // A socket's path has at most 80 bytes here: longer ones are shortened, or in a temporary folder.
  ["from the working folder", () => join("node_modules", ".cache", `data-${"x".repeat(50)}`)],
  ["nowhere", async () => join(await temporaryFolder(), "x".repeat(90))],
])("a data folder whose path is short %s keeps its data when the stack stops", async (_, path) => {
  const dataDir = resolve(await path());
  expect(dataDir.length).toBeGreaterThan(80);
  const own = await startOwnStack({ parts: ["rest"], dataDir });
  try {
    const environment = await readFile(`/proc/${await dataApiPid()}/environ`, "utf8");
    const socket = /PGRST_SERVER_UNIX_SOCKET=([^\0]+)/.exec(environment)?.[1] ?? "";
    expect(existsSync(socket), socket).toBe(true);
    await own.stop();
    expect([existsSync(socket), existsSync(join(dataDir, "postgres", "PG_VERSION"))]).toEqual([false, true]);
  } finally {
    await own.remove();
    await rm(dataDir, { recursive: true, force: true });
  }
});

describe("a query that could be read in two ways", () => {
  const raw = async (method: string, path: string, headers: Record<string, string> = {}) => {
    const key = { apikey: stack.secret_key, "content-type": "application/json", ...headers };
    const { hostname, port } = new URL(stack.supabase_url);
    return new Promise<{ status: number; text: string }>((resolve, reject) => {
      const sent = request({ hostname, port, path: `/rest/v1/${path}`, method, headers: key }, async (answer) => {
        let text = "";
        for await (const chunk of answer) text += chunk;
        resolve({ status: answer.statusCode ?? 0, text });
      });
      sent.on("error", reject).end(method === "PATCH" ? '{"description":"changed"}' : undefined);
    });
  };

  test.each([
    "x",
    "title",
    "=",
    ";select=title",
    "%20",
    "or",
    "select=title;title=eq.a",
    "select=title,survey_questions(id)&not.survey_questions.or=(id.is.null)",
    "select=id,not:survey_questions(id)&not.id=is.null",
    "survey_questions.text=eq.a",
    "title=eq.a&limit=1&order=id",
    "title=eq.a&off%73et=1",
    "title=eq.a%00b",
    "title=eq.%ff",
  ])("does not change every row: %s", async (query) => {
    for (const method of ["PATCH", "DELETE"]) {
      const { status, text } = await raw(method, `surveys?${query}`);
      expect([status, text], method).toEqual([400, expect.stringMatching(/"code":"/)]);
    }
  });

  test.each([
    ["a question mark", "title=eq.Why?", "Why?"],
    ["a semicolon", "title=eq.One;x", "One;x"],
    ["an encoded ampersand", "title=eq.A%26B", "A&B"],
    ["a plus and a space", "title=eq.C%2B+D", "C+ D"],
  ])("%s belongs to the value", async (_, query, title) => {
    const { id } = await newOrganization();
    const short = title.slice(0, 3).replace(/\W.*/, "");
    await sql`insert into surveys (organization_id, title) select ${id}, unnest(${[title, short]}::text[])`;
    const { status, text } = await raw("DELETE", `surveys?${query}&organization_id=eq.${id}&select=title`, {
      prefer: "return=representation",
    });
    expect([status, JSON.parse(text)]).toEqual([200, [{ title }]]);
  });

  test("a semicolon hides no list from the limits", async () => {
    const many = Array.from({ length: 300 }, (_, n) => `a${n}:id`).join();
    expect((await raw("GET", `tags?limit=1&select=id;${many}`)).status).toBe(400);
    const { status, text } = await raw("GET", `tags?limit=1;select=${many}`);
    // The test searches for the column's key with quotes, because a random id may contain its name.
    expect([status, text.includes('"a299":')]).toEqual([200, false]);
  });

  test("a header that is not UTF-8, or too long, is a 400 in JSON", async () => {
    const headers = { "user-agent": "\xe9", accept: "\xff", "x-long": "x".repeat(55_000) };
    for (const [name, value] of Object.entries(headers)) {
      const { status, text } = await raw("GET", "tags?select=id", { [name]: value });
      expect([status, text]).toEqual([400, expect.stringMatching(/^{"code":"VALIDATION_ERROR"/)]);
    }
  });
});
