import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { newOrganization, type Organization, only } from "../api/world.ts";
import { api, sql, stack } from "../stack.ts";
import { newAgent } from "./admin/agents.ts";
import { newWebhook } from "./admin/webhooks.ts";
import { type Person, signedIn } from "./pages.ts";

// Keys, webhooks, origins, agents and limits of the dashboard, by the requests of a browser without JavaScript.

let organization: Organization;
let owner: Person;
let base: string;
const world = () => ({ organization, authorId: owner.userId });

async function newOwner(): Promise<{ organization: Organization; owner: Person }> {
  const created = await newOrganization();
  return { organization: created, owner: await signedIn({ organization: created, role: "owner" }) };
}

beforeAll(async () => {
  ({ organization, owner } = await newOwner());
  base = `/o/${organization.slug}/admin/settings`;
});

/** Forms, with a field repeated where its value is a list. */
function encoded(fields: Record<string, string | string[]>): string {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) for (const one of [value].flat()) form.append(name, one);
  return form.toString();
}

const secretIn = (text: string) => /(?:fcs_(?:org|agt)_[A-Za-z0-9_-]{49}|whsec_[A-Za-z0-9+/]{43}=)/.exec(text)?.[0];
const notAgain = "was shown once";

/** The page in the form's answer, its secret, and the answer to the same form posted again. */
async function postTwice(path: string, fields: Record<string, string | string[]>) {
  const body = encoded({ form_id: randomUUID(), ...fields });
  const [first, repeated] = [await owner.postRaw(path, body), await owner.postRaw(path, body)];
  return { first, again: repeated, secret: secretIn(first.text) ?? "" };
}

async function newKey(scopes: string[] = ["submissions:read"], more: Record<string, string> = {}) {
  const created = await postTwice(`${base}/api-keys`, { name: `key ${randomUUID()}`, scopes, ...more });
  const [row] = await sql<{ id: string; count: number }[]>`
    select id, count(*) over ()::integer as count from private.api_keys
    where organization_id = ${organization.id} and last_four = ${created.secret.slice(-4)} order by created_at desc`;
  return { ...created, id: only(row).id };
}

const keyCount = async () =>
  only(
    (
      await sql<
        { n: number }[]
      >`select count(*)::integer as n from private.api_keys where organization_id = ${organization.id}`
    )[0],
  ).n;

const isAccepted = async (token: string) => (await api("/api/submissions", { token })).status;

describe("an API key", () => {
  test("shows its secret once: the same form posted again makes no other key and does not show it", async () => {
    const before = await keyCount();
    const { first, again: repeated, secret } = await newKey();
    expect(first.status).toBe(200);
    expect(secret).toMatch(/^fcs_org_/);
    expect(first.text).toContain("Copy it now");
    expect(repeated.status).toBe(200);
    expect(repeated.text).toContain(notAgain);
    expect(repeated.text).not.toContain(secret);
    expect(await keyCount()).toBe(before + 1);
    expect((await owner.get(`${base}/api-keys`)).text).not.toContain(secret);
  });

  test("has its secret in no table and no log", async () => {
    const { secret } = await newKey();
    expect(await isAccepted(secret)).toBe(200);
    const kept = await sql<{ answer: string }[]>`
      select answer from private.idempotency_keys where profile_id = ${owner.userId} and answer like '%last_four%'`;
    expect(kept.length).toBeGreaterThan(0);
    expect(kept.filter(({ answer }) => answer.includes(secret))).toEqual([]);
    expect(await readFile(join(dirname(stack.mailPath), "functions.log"), "utf8")).not.toContain(secret);
  });

  test("may do what was chosen, until the day that was chosen", async () => {
    const expires_at = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T23:59:59Z`;
    const { id } = await newKey(["", "surveys:read", "analytics:read"], { expires_at });
    const [row] = await sql`select scopes, expires_at from private.api_keys where id = ${id}`;
    expect(row).toEqual({ scopes: ["surveys:read", "analytics:read"], expires_at: new Date(expires_at) });
    const form = (await owner.get(`${base}/api-keys/new`)).html.querySelector("main form");
    expect(form?.querySelectorAll("input[name=scopes][type=checkbox]").length).toBe(12);
    expect(form?.querySelectorAll("select[name=expires_at] option").map((one) => one.getAttribute("value"))).toContain(
      new Date(expires_at).toISOString(),
    );
  });

  test("is made again where the form was refused: what was typed and chosen stands in it", async () => {
    const { status, html } = await owner.postRaw(
      `${base}/api-keys`,
      encoded({ form_id: randomUUID(), name: "", scopes: ["", "surveys:read"] }),
    );
    expect(status).toBe(422);
    expect(html.querySelector("[aria-invalid=true]")?.getAttribute("name")).toBe("name");
    expect(html.querySelectorAll("input[name=scopes][checked]").map((one) => one.getAttribute("value"))).toEqual([
      "surveys:read",
    ]);
  });

  test("is rotated with an overlap, once for each form", async () => {
    const { id, secret: old } = await newKey();
    const {
      first,
      again: repeated,
      secret,
    } = await postTwice(`${base}/api-keys/${id}/rotate`, { overlap_seconds: "3600" });
    expect(first.status).toBe(200);
    expect(secret).not.toBe(old);
    expect(repeated.text).toContain(notAgain);
    expect(repeated.text).not.toContain(secret);
    expect([await isAccepted(old), await isAccepted(secret)]).toEqual([200, 200]);
    const gone = await postTwice(`${base}/api-keys/${id}/rotate`, { overlap_seconds: "0" });
    expect([await isAccepted(old), await isAccepted(gone.secret)]).toEqual([401, 200]);
  });

  test("is revoked after a question that says what is lost", async () => {
    const { id, secret } = await newKey();
    const { html } = await owner.get(`${base}/api-keys/${id}/revoke`);
    expect(html.querySelector(".lost")?.textContent).toContain("Access for everything that uses this key");
    const done = await owner.submit(html.querySelector("main form"));
    expect(done.location).toBe(`${base}/api-keys?done=revoked`);
    expect(await isAccepted(secret)).toBe(401);
    const list = (await owner.get(`${base}/api-keys`)).html;
    expect(list.querySelector(`#ended #row-${id}`)?.textContent).toContain("Revoked");
    // A revoked key cannot be rotated.
    const late = await owner.post(`${base}/api-keys/${id}/rotate`, { overlap_seconds: "0" });
    expect([late.status, secretIn(late.text)]).toEqual([422, undefined]);
  });

  test("older than 90 days is warned of, unless it ends anyway", async () => {
    const { owner: other, organization: another } = await newOwner();
    const path = `/o/${another.slug}/admin/settings/api-keys`;
    const created = async (name: string, expires: string | null) => sql`
      with made as (select private.create_api_key(${another.id}, ${name}, '{}', sha256(gen_random_uuid()::text::bytea),
        'fcs_org_', 'abcd', now() + ${expires}::interval) as id)
      select id from made`;
    const [[old], [ending]] = [await created("old", null), await created("ending", "1 day")];
    expect((await other.get(path)).text).not.toContain("Older than 90 days");
    await sql`update private.api_keys set created_at = now() - interval '91 days' where organization_id = ${another.id}`;
    const { html } = await other.get(path);
    expect(html.querySelector(".notice.warning")?.textContent).toContain("1 key is older than 90 days");
    expect(html.querySelector(`#row-${old?.id} .warning`)).not.toBeNull();
    expect(html.querySelector(`#row-${ending?.id} .warning`)).toBeNull();
  });
});

describe("a webhook", () => {
  const fields = () => ({ organization_id: organization.id, url: "http://127.0.0.1:9/hooks", events: "survey.closed" });

  test("shows the secret that was made for it once", async () => {
    const { first, again: repeated, secret } = await postTwice(`${base}/webhooks`, fields());
    expect(secret).toMatch(/^whsec_/);
    expect(first.text.replaceAll("&#43;", "+")).toContain(secret);
    expect(repeated.text).toContain(notAgain);
    expect(repeated.text).not.toContain(secret);
    expect((await owner.get(`${base}/webhooks`)).text).not.toContain(secret);
  });

  test("never shows a secret that was given, nor where the form is refused", async () => {
    const secret = "a-secret-of-the-receiver";
    const created = await postTwice(`${base}/webhooks`, { ...fields(), secret });
    expect([created.first.status, created.again.status]).toEqual([200, 200]);
    const refused = await owner.post(`${base}/webhooks`, { ...fields(), secret, events: "" });
    expect(refused.status).toBe(422);
    for (const { text } of [created.first, created.again, refused]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(notAgain);
    }
  });

  test("is refused at a private address, at the field", async () => {
    const { status, html } = await owner.post(`${base}/webhooks`, { ...fields(), url: "https://10.0.0.1/hooks" });
    expect(status).toBe(422);
    expect(html.querySelector("#url-problem")?.textContent).toContain("URL");
    expect(html.querySelector("#url")?.getAttribute("value")).toBe("https://10.0.0.1/hooks");
    expect(html.querySelectorAll("input[name=events][checked]").length).toBe(1);
  });

  test("is edited, paused, resumed, rotated and deleted", async () => {
    const id = await newWebhook(world());
    const path = `${base}/webhooks/${id}`;
    const of = { organization_id: organization.id };
    const edited = await owner.postRaw(
      `${path}/edit`,
      encoded({ ...of, _method: "patch", events: ["", "survey.closed", "org.updated"] }),
    );
    expect(edited.location).toBe(`${path}?done=saved`);
    const pause = (await owner.get(path)).html.querySelector("form:has([name=enabled])");
    expect((await owner.submit(pause)).location).toBe(`${path}?done=paused`);
    const paused = (await owner.get(path)).html;
    expect(paused.querySelector("main")?.textContent).toContain("Paused");
    expect(paused.querySelectorAll(".tag").map((tag) => tag.textContent)).toEqual(["survey.closed", "org.updated"]);
    // Testing a paused webhook is refused, and its page shows the reason.
    const tested = await owner.post(`${path}/test`, of);
    expect([tested.status, tested.html.querySelector("[role=alert]")?.textContent]).toEqual([
      422,
      "This endpoint is paused. Resume it first.",
    ]);
    expect((await owner.submit(paused.querySelector("form:has([name=enabled])"))).location).toBe(
      `${path}?done=resumed`,
    );
    const { first, again: repeated, secret } = await postTwice(`${path}/rotate`, { ...of, overlap_seconds: "3600" });
    expect(first.text).toContain("Also signed with the previous secret until");
    expect(repeated.text).toContain(notAgain);
    expect(repeated.text).not.toContain(secret);
    const question = (await owner.get(`${path}/delete`)).html;
    expect(question.querySelectorAll(".lost li").length).toBe(2);
    expect((await owner.submit(question.querySelector("main form"))).location).toBe(`${base}/webhooks?done=removed`);
    expect((await owner.get(path)).status).toBe(404);
  });

  test("shows what a receiver answered as text only", async () => {
    const id = await newWebhook(world());
    const event = randomUUID();
    await sql`insert into private.webhook_deliveries
        (organization_id, webhook_id, event_id, event, data, status, attempt_count, attempts, finished_at)
      values (${organization.id}, ${id.slice(3)}::uuid, ${event}, 'survey.closed', '{"note": "<img src=x>"}', 'failed', 1,
        jsonb_build_array(private.logged_attempt(1, now(), 1234, 500, '<script>alert(1)</script>', null)), now())`;
    const { html, text } = await owner.get(`${base}/webhooks/${id}/deliveries/evt_${event.replaceAll("-", "")}`);
    expect(text).not.toContain("<script>alert");
    expect(text).not.toContain("<img src=x>");
    expect(html.querySelector("#attempt-1")?.textContent).toContain("1.2 sec");
    const log = (await owner.get(`${base}/webhooks/${id}`)).html.querySelector("#log tbody")?.textContent;
    expect(log).toContain("Failed");
    expect(log).toContain("500");
    expect(log).toContain("1.2 sec");
  });
});

test("a key of an agent is not one of the organization, nor of another agent", async () => {
  const [one, other] = [await newAgent(world()), await newAgent(world())];
  const { secret } = await postTwice(`${base}/agents/${one}/keys`, { scopes: "submissions:read" });
  const [key] = await sql`select id from private.api_keys where profile_id = ${one}`;
  expect(secret).toMatch(/^fcs_agt_/);
  expect((await owner.get(`${base}/api-keys/${key?.id}/revoke`)).status).toBe(404);
  expect((await owner.post(`${base}/api-keys/${key?.id}`, { _method: "delete" })).status).toBe(404);
  expect((await owner.post(`${base}/agents/${other}/keys/${key?.id}`, { _method: "delete" })).status).toBe(404);
  expect((await owner.get(`${base}/agents/${other}/keys/${key?.id}/rotate`)).status).toBe(404);
});

describe("allowed origins", () => {
  test("are written one a line; a wrong line is named and nothing is kept", async () => {
    const put = (origins: string) => owner.post(`${base}/origins`, { _method: "put", origins });
    expect((await put("https://app.example.org\r\n\r\n  http://localhost:3000 ")).location).toBe(
      `${base}/origins?done=saved`,
    );
    const { html, status } = await put("https://app.example.org\r\n\r\nhttps://app.example.org/path");
    expect(status).toBe(422);
    expect(html.querySelector("#origins-problem")?.textContent).toContain("Line 3");
    expect(html.querySelector("#origins")?.textContent).toContain("https://app.example.org/path");
    const shown = (await owner.get(`${base}/origins`)).html.querySelector("#origins")?.textContent;
    expect(shown?.trim().split("\n")).toEqual(["https://app.example.org", "http://localhost:3000"]);
    await put("");
    expect((await owner.get(`${base}/origins`)).html.querySelector("#origins")?.textContent.trim()).toBe("");
  });
});

describe("an agent", () => {
  const policiesOf = async (id: string) =>
    (
      await sql`select read_only, confirm_destructive, tools, category_ids, survey_ids, calls_a_day from private.agents where id = ${id}`
    )[0];

  test("is made, edited and retired with its keys", async () => {
    const created = await owner.submit((await owner.get(`${base}/agents/new`)).html.querySelector("main form"), {
      name: "Triage",
      tier: "professional",
    });
    const path = created.location?.replace("?done=created", "") ?? "";
    expect(path).toMatch(/\/agents\/[0-9a-f-]{36}$/);
    const { secret } = await postTwice(`${path}/keys`, { scopes: "submissions:read" });
    expect((await owner.post(path, { _method: "patch", name: "Sorter", description: "Sorts" })).location).toBe(
      `${path}?done=saved`,
    );
    const shown = (await owner.get(path)).html;
    expect(shown.querySelector("h1")?.textContent).toBe("Sorter");
    expect(shown.textContent).toContain("Professional");
    const question = (await owner.get(`${path}/retire`)).html;
    await owner.submit(question.querySelector("main form"));
    const call = await api("/api/mcp/tools", { token: secret, body: { jsonrpc: "2.0", id: 1, method: "tools/list" } });
    expect(call.status).toBe(401);
    const retired = (await owner.get(path)).html;
    expect(
      retired.querySelectorAll("main a").filter((link) => /edit|keys\/new/.test(link.getAttribute("href") ?? "")),
    ).toEqual([]);
  });

  test("gives the configuration of clients, with the secret only where it was made", async () => {
    const path = `${base}/agents/${await newAgent(world())}`;
    expect((await owner.get(path)).html.querySelector("#connect")?.textContent).toContain("Bearer YOUR_KEY");
    const { first, again: repeated, secret } = await postTwice(`${path}/keys`, { scopes: "submissions:read" });
    const connect = first.html.querySelector("#connect");
    expect(connect?.textContent).toContain(`Bearer ${secret}`);
    // Turbo does not cache temporary elements.
    expect(connect?.hasAttribute("data-turbo-temporary")).toBe(true);
    expect(repeated.text).not.toContain(secret);
    expect(repeated.text).toContain(notAgain);
  });

  test("has the policies of the form: all, these or none", async () => {
    const id = await newAgent(world());
    const path = `${base}/agents/${id}/policies`;
    const put = (fields: Record<string, string | string[]>) =>
      owner.postRaw(path, encoded({ _method: "put", ...fields }));
    await put({
      read_only: "true",
      tools_of: "only",
      tools: ["list_submissions", "add_comment"],
      calls_a_day: "100",
      category_ids_of: "only",
    });
    expect(await policiesOf(id)).toEqual({
      read_only: true,
      confirm_destructive: false,
      tools: ["list_submissions", "add_comment"],
      category_ids: [],
      survey_ids: null,
      calls_a_day: 100,
    });
    const form = (await owner.get(path)).html;
    expect(form.querySelectorAll("[name=tools][checked]").length).toBe(2);
    expect(form.querySelector("[name=category_ids_of][value=only]")?.hasAttribute("checked")).toBe(true);
    const refused = await put({ calls_a_day: "-1", tools_of: "only", tools: "list_submissions" });
    expect(refused.status).toBe(422);
    expect(refused.html.querySelector("#calls_a_day-problem")).not.toBeNull();
    expect(refused.html.querySelectorAll("[name=tools][checked]").length).toBe(1);
    await put({ tools_of: "all", tools: "list_submissions" });
    expect((await policiesOf(id))?.tools).toBeNull();
  });

  test("leaves a trail of calls, which is filtered and paged", async () => {
    const id = await newAgent(world());
    await sql`insert into private.agent_audit (organization_id, agent_id, key_id, request_id, tool, outcome, duration_ms, argument_names)
      select ${organization.id}, ${id}, gen_random_uuid(), gen_random_uuid(), case when n % 2 = 0 then 'add_comment' else 'list_submissions' end,
        case when n = 1 then 'FORBIDDEN' else 'ok' end, 1.5, '{limit}' from generate_series(1, 60) n`;
    const path = `${base}/agents/${id}/calls`;
    const rows = async (query: string) => {
      const { html } = await owner.get(path + query);
      return {
        count: html.querySelectorAll("#calls tbody tr").length,
        next: html.querySelector("[rel=next]")?.getAttribute("href"),
      };
    };
    const first = await rows("?tool=&outcome=");
    expect(first.count).toBe(50);
    const second = await owner.get(first.next ?? "");
    expect(second.html.querySelectorAll("#calls tbody tr").length).toBe(10);
    expect((await rows("?tool=add_comment")).count).toBe(30);
    expect((await rows("?outcome=FORBIDDEN")).count).toBe(1);
  });
});

test("the limits in force are those of the database", async () => {
  await sql`update public.organizations set max_members = 1 where id = ${organization.id}`;
  const rules = await sql<
    { name: string; max_requests: number }[]
  >`select name, max_requests from private.rate_limit_rules`;
  const { html } = await owner.get(`${base}/limits`);
  const rows = html
    .querySelectorAll("#rates tbody tr")
    .map((row) => row.querySelectorAll("td").map((cell) => cell.textContent));
  expect(rows.length).toBe(rules.length);
  // Every rule has its own text; no two are the same for the same window.
  expect(rows.filter(([what = ""]) => what.includes("_"))).toEqual([]);
  expect(new Set(rows.map(([what, who, , window]) => `${what} ${who} ${window}`)).size).toBe(rules.length);
  expect(rows.map(([, , most]) => most?.replaceAll(",", "")).sort()).toEqual(
    rules.map((rule) => String(rule.max_requests)).sort(),
  );
  expect(html.querySelector(".stats")?.textContent).toContain("Reached");
});
