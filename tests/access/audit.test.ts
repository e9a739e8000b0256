import { beforeAll, describe, expect, test } from "vitest";
import { importFunction } from "../import-function.ts";
import { sql } from "../stack.ts";
import { adminAreas } from "../web/admin/areas.ts";
import { filled } from "../web/admin/callers.ts";
import { newBoard as newSite, type Board as Site } from "../web/board.ts";
import { type Board, call, newBoard } from "./callers.ts";
import { routesOfTheService } from "./service.ts";

// Sends every route of the API and every page and form of the dashboard as an admin. Each request that changes
// something, or that shows people's addresses or answers, must be in the audit trail; a table below lists the exceptions
// with reasons.

const own = "one's own contribution or setting";
const unchanged = "the row of the test has this state already; the same form of the dashboard is logged";
const refused = "the admin or the request of the test is refused; the functions' own tests look at the log";
const deliveries = "sends again what the log of deliveries lists";
const agentTrail = "calls of agents have an audit trail of their own";

const unloggedRoutes: Record<string, string> = {
  "POST /api/imports/run": "the schedule",
  "POST /api/submissions/check-duplicates": "changes nothing",
  "POST /api/submissions": own,
  "POST /api/submissions/:id/vote": own,
  "DELETE /api/submissions/:id/vote": own,
  "POST /api/submissions/:id/comments": own,
  "PATCH /api/comments/:id": "only its author edits a comment",
  "POST /api/comments/:id/vote": own,
  "DELETE /api/comments/:id/vote": own,
  "POST /api/submissions/:id/follow": own,
  "DELETE /api/submissions/:id/follow": own,
  "POST /api/me/notifications/read": own,
  "PATCH /api/me/mail-preferences": own,
  "POST /api/submissions/:id/mute": own,
  "DELETE /api/submissions/:id/mute": own,
  "POST /api/surveys/:id/publish": unchanged,
  "POST /api/surveys/:id/resume": unchanged,
  "POST /api/surveys/:id/mail": "a survey for everyone is not mailed; survey.mail: tests/api/audit.test.ts",
  "POST /api/surveys/:id/start": own,
  "POST /api/surveys/:id/responses": own,
  "PUT /api/organizations/:id/logo": refused,
  "DELETE /api/organizations/:id/members/:user_id/second-factor": refused,
  "POST /api/organizations/:id/transfer": refused,
  "POST /api/invites/accept": refused,
  "POST /api/organizations/:id/webhooks/:webhook_id/test": deliveries,
  "POST /api/organizations/:id/webhooks/:webhook_id/deliveries/:event_id/redeliver": deliveries,
  "POST /api/identify": "a person signs in by the backend of the host",
  "POST /api/identify/sign-out": own,
  "POST /api/admin/identify-secrets/check": "changes nothing",
  "POST /api/admin/moderation": unchanged,
  "POST /api/admin/imports/:id/run": "goes on with an import, whose start is logged",
  "POST /api/admin/imports/:id/apply": refused,
  "DELETE /api/me": refused,
  "POST /api/mcp/tools": agentTrail,
  "POST /api/mcp": agentTrail,
  "DELETE /api/mcp": agentTrail,
};

const loggedReads: Record<string, string> = {
  "GET /api/submissions/:id/voters": "submission.read_voters",
  "GET /api/surveys/:id/responses": "survey.read_responses",
  "GET /api/admin/people": "person.search",
  "GET /api/admin/people/:id": "person.read",
  "GET /api/admin/people/:id/export": "person.export",
  "GET /api/admin/export": "organization.export",
};

const teamOnly = "addresses of the team and of whom it invites";

const unloggedAddresses: Record<string, string> = {
  "GET /api/openapi.json": "examples",
  "GET /api/docs": "examples",
  "GET /api/organizations/:id/members": teamOnly,
  "GET /api/organizations/:id/invites": teamOnly,
  "GET /api/me/export": own,
};

const unloggedForms: Record<string, string> = {
  'POST /inbox {"items":"","action":"approve"}': refused,
  'POST /submissions {"action":"set_category","category":""}': refused,
  'POST /submissions/unmerge {"submission_id":":submission"}': refused,
  'POST /surveys/new {"do":"add.nps"}': "the builder keeps its state in the form",
  'POST /surveys/:draft/edit {"do":"add.nps"}': "the builder keeps its state in the form",
  "POST /surveys/:open/mail {}": refused,
  "POST /people/members/:member/second-factor": "has none; tests/web/factors.test.ts removes one",
  "POST /people/members/:member/transfer": refused,
  "POST /settings/identify/check": "changes nothing",
  'POST /settings/webhooks {"url":"https://192.0.2.1/hooks","events":"survey.closed"}': refused,
  "POST /settings/webhooks/:webhook/test": deliveries,
  "POST /settings/webhooks/:delivery/redeliver": deliveries,
};

const loggedPages: Record<string, string> = {
  "/surveys/:open/responses": "survey.read_responses",
  "/surveys/:open/responses.csv": "survey.export",
  "/surveys/:response": "survey.read_responses",
  "/people/users": "person.search",
  "/people/users?search=ada": "person.search",
  "/people/users/:author": "person.read",
  "/people/users/:author/erase": "person.read",
  "/people/users/:author/data.json": "person.export",
  "/export/file?format=csv&what=tags": "organization.export",
};

const unloggedPages: Record<string, string> = {
  "/people": teamOnly,
  "/people/members/:member": teamOnly,
  "/people/members/:member/remove": teamOnly,
  "/people/members/:member/transfer": teamOnly,
  "/people/invites": teamOnly,
};

/** Forms outside of the dashboard that do not correspond to a route of the API. */
const ownAccount = "one's own account, or the way to it";
const sameEndpoint = "the endpoint of a route of the API, at another address";

const otherForms: Record<string, string> = {
  "/admin/import/:id/apply": sameEndpoint,
  "/admin/import/:id/check": sameEndpoint,
  "/admin/settings/brand/logo": "organization.update, by the trigger of the table",
  "/auth/confirm": ownAccount,
  "/auth/reject": ownAccount,
  "/auth/undo": ownAccount,
  "/claim": "author.claim: tests/database/99_claims.sql",
  "/invite": "invite.accept: tests/api/audit.test.ts",
  "/mail": own,
  "/new": own,
  "/notifications/read": own,
  "/preferences": own,
  "/reset": ownAccount,
  "/reset/code": ownAccount,
  "/reset/password": ownAccount,
  "/settings": own,
  "/settings/erase": "person.erase, like DELETE /api/me",
  "/settings/factor": ownAccount,
  "/settings/factor/code": ownAccount,
  "/settings/factor/remove": ownAccount,
  "/settings/mail": own,
  "/setup": "before there is an organization",
  "/sign-in": ownAccount,
  "/sign-in/code": ownAccount,
  "/sign-in/email": ownAccount,
  "/sign-in/factor": ownAccount,
  "/sign-out": ownAccount,
  "/sign-up": ownAccount,
  "/sso": "a sign-in, like POST /api/identify",
  "/submissions/:id/merge": sameEndpoint,
  "/submissions/:id/moderation": sameEndpoint,
  "/submissions/:id/tags": "submission.add_tags: tests/web/submission.test.ts",
  "/submissions/:id/unmerge": sameEndpoint,
  "/unsubscribe": own,
  "/unsubscribe/accounts": ownAccount,
  "/unsubscribe/invites": own,
};

const routes = await routesOfTheService();
let board: Board;
let site: Site;
const requested: string[] = [];

beforeAll(async () => {
  [board, site] = [await newBoard("public"), await newSite("public")];
});

/** Actions of requests by this person; rows that the tests write belong to no request. */
async function actionsOf(organizationId: string, actorId: string): Promise<string[]> {
  const rows = await sql<{ action: string }[]>`
    select action from private.audit_log
    where organization_id = ${organizationId} and actor_id = ${actorId} and request_id is not null order by created_at`;
  return rows.map(({ action }) => action);
}

const addressesIn = (text: string) => text.match(/[\w.+-]+@[\w-]+(\.[\w-]+)*\.(example|org|com)\b/g) ?? [];

describe("a route of the API that an admin calls", () => {
  test.each(routes.map((route) => ({ name: `${route.method} ${route.path}`, route })))(
    "$name",
    async ({ name, route }) => {
      const { id, token } = board.people.admin;
      const before = await actionsOf(board.organization.id, id);
      const { text } = await call(route, token, board);
      const rows = (await actionsOf(board.organization.id, id)).slice(before.length);
      if (route.method !== "GET") expect(rows.length > 0).toBe(!(name in unloggedRoutes));
      else {
        expect(rows).toEqual(loggedReads[name] ? [loggedReads[name]] : []);
        if (!(name in loggedReads || name in unloggedAddresses)) expect(addressesIn(text)).toEqual([]);
      }
    },
  );
});

describe.each(adminAreas)("the dashboard's $name", (area) => {
  const path = async (of: string) => {
    const { people: _, ...world } = site;
    return `/o/${site.organization.slug}/admin${await filled(of, area, world)}`;
  };
  const log = () => actionsOf(site.organization.id, site.people.owner.userId);

  test.each(area.pages.map(([page]) => page))("GET %s", async (page) => {
    const before = await log();
    const { text } = await site.people.owner.get(await path(page));
    const rows = await log();
    // A list that is read again within the hour is logged once.
    if (loggedPages[page]) expect(rows).toContain(loggedPages[page]);
    else {
      expect(rows).toEqual(before);
      if (!(page in unloggedPages)) expect(addressesIn(text)).toEqual([]);
    }
  });

  if (area.forms.length > 0)
    test.each(area.forms)("POST %s %j", async (page, fields) => {
      const { people, ...world } = site;
      const name = `POST ${page}`;
      const before = await log();
      const to = await path(page);
      requested.push(to);
      await people.owner.post(to, JSON.parse(await filled(JSON.stringify(fields), area, world)));
      const isUnlogged = name in unloggedForms || `${name} ${JSON.stringify(fields)}` in unloggedForms;
      expect((await log()).length > before.length).toBe(!isUnlogged);
    });
});

test.each(["ann@mail.example", "203.0.113.7", "2001:db8::1"])(
  "the databases of all tests refuse an audit row with %s",
  async (reason) => {
    const row = {
      organization_id: board.organization.id,
      action: "a.b",
      target_type: "x",
      details: sql.json({ reason }),
    };
    await expect(sql`insert into private.audit_log ${sql(row)}`).rejects.toThrow("addresses_are_masked_in_tests");
  },
);

test("every form of the pages was sent above, is a route of the API, or has a reason not to be logged", async () => {
  type Pages = { app: { routes: { method: string; path: string }[] } };
  const { app } = await importFunction<Pages>(new URL("../../functions/web/app.ts", import.meta.url));
  const forms = app.routes
    .filter(({ method, path }) => method === "POST" && !/^\/(embed|o)\//.test(path))
    .map(({ path }) => path);
  const wasSent = (path: string) => {
    const pattern = new RegExp(`^/o/[^/]+${path.replaceAll(/:\w+/g, "[^/]+")}$`);
    return requested.some((to) => pattern.test(to));
  };
  const ofTheApi = new Set(routes.map(({ path }) => path.replace("/api", "")));
  expect(forms.filter((path) => !wasSent(path) && !ofTheApi.has(path)).sort()).toEqual(Object.keys(otherForms).sort());
});
