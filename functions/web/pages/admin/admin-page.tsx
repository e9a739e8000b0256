import type { JSX } from "hono/jsx/jsx-runtime";
import type { z } from "zod";
import type { MemberRole } from "../../../../shared/organizations.ts";
import type { Results, Statement } from "../../../_shared/database/run.ts";
import { forbidden, notFound } from "../../../_shared/http/api-error.ts";
import type { Endpoint, JsonResponse } from "../../../_shared/http/endpoint.ts";
import { type AdminFrame, adminFrame, myTeams } from "../../../_shared/statements/admin-frame.ts";
import type { Frame, FrameOf } from "../../../_shared/statements/pages.ts";
import type { AreaTexts } from "../../../words/index.ts";
import { adminScript, adminStylesheet } from "../../assets.generated.ts";
import { Confirm, type ConfirmProps } from "../../components/admin/confirm.tsx";
import { AdminSide } from "../../components/admin/side.tsx";
import { Icon } from "../../components/icon.tsx";
import { action, type Page, type PageInput, page } from "../../page.tsx";
import { adminPath, filled } from "../../paths.ts";
import { type Shown, shownOf } from "../../shown.ts";
import { ownPath } from "../../visit.ts";
import { type AreaName, areas } from "./areas.ts";

/** What an area's actions say once they are done, by code. */
type DoneMessages = Record<string, string | ((count: number) => string)>;

type AdminInput<Query, Words> = PageInput<Query> & { admin: AdminFrame; words: Words };

/** A page of the dashboard: its content, or a question. */
type AdminView = {
  title: string;
  content?: JSX.Element | string | false;
  /** Asks for confirmation, before the content; canceled, it leads to the last page of the trail. */
  confirm?: Omit<ConfirmProps, "back"> & { back?: string };
  /** Beside the title. */
  actions?: JSX.Element;
  /** Breadcrumbs between the area and this page, outermost first. */
  trail?: { label: string; href: string }[];
  status?: number;
  /** Additional elements of the document's head. */
  head?: JSX.Element;
  /** Shown beside the message about the last action. */
  undo?: JSX.Element;
};

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

/** Replaces an admin page for members of the team and members of other teams: lists the pages that they may open. */
const elsewhere = page({
  path: "/admin",
  access: "person",
  call: () => [myTeams()],
  view: ([teams], { visit }, { organization }) => {
    if (teams.length === 0) throw forbidden("Only members of the organization can do this.");
    const words = visit.messages.admin.frame;
    const own = teams.find(({ id }) => id === organization?.id);
    if (own && own.role !== "member") throw notFound("page");
    const [title, text] = own ? [words.adminsOnly, words.adminsOnlyText] : [words.elsewhere, words.elsewhereText];
    return {
      title,
      status: visit.base ? 403 : 200,
      noindex: true,
      content: (
        <section class="card narrow stack">
          <h1>{title}</h1>
          <p>{text}</p>
          <ul class="list" id="teams">
            {teams.map(({ slug, name, role }) => (
              <li class="row plain">
                <a
                  class="link"
                  href={`/o/${slug}${role === "member" ? `/admin${areas.people.path}` : visit.path.slice(visit.base.length)}`}
                >
                  {name}
                </a>
              </li>
            ))}
          </ul>
        </section>
      ),
    };
  },
});

/** An action of a page of the dashboard: an endpoint of the API, with a redirect for an answer. */
export type AdminAction = Pick<Page, "readForm" | "showsResult" | "isShown"> & {
  of: Endpoint;
  /** Path below the area; by default that of the page. */
  path?: string;
  /** Shows the response once, such as a secret, in `visit.answered`. */
  resultPage?: Page;
  /** Key in the area's `done` of the message on the next page, with the number of changed rows. */
  done?: string | ((response: JsonResponse, at: At) => { done: string; count?: number } | undefined);
  /**
   * The next page: a path below the area, with parameters of the action's path; by default `return_to` of the form,
   * otherwise the area.
   */
  next?: string | ((response: JsonResponse, at: At) => string);
};

/** Declares a page of the dashboard, at /admin and /o/:organization/admin. The database decides who sees it. */
export function adminPage<
  Area extends AreaName,
  const Statements extends readonly Statement[] = never,
  Query extends z.ZodType | undefined = undefined,
  const Called extends readonly Statement[] = never,
>(definition: {
  area: Area;
  /** Below the area's. */
  path?: string;
  /** The least that may open it; an admin without. */
  role?: MemberRole;
  /** It may take seconds. */
  runsLong?: boolean;
  query?: Query;
  /** The row that the page is about: one of another organization is not found. */
  row?: (input: PageInput<Parsed<Query>>) => FrameOf;
  read?: (input: PageInput<Parsed<Query>>) => Statements;
  /** As `read`; `view` is given the rows as the database returned them. */
  call?: (input: PageInput<Parsed<Query>>) => Called;
  view: (
    values: [Called] extends [never] ? Shown<Statements> : Results<Called>,
    input: AdminInput<Parsed<Query>, AreaTexts[Area]>,
    frame: Frame,
  ) => AdminView;
  /** What its forms are sent to. */
  actions?: readonly (AdminAction | Page)[];
}): Page {
  const { area, path = "", role = "admin", runsLong, query, row, read, call, view } = definition;
  const statementsOf = (read ?? call) as ((input: PageInput) => readonly Statement[]) | undefined;
  return page({
    path: `/admin${areas[area].path}${path}`,
    access: "person",
    ofOrganization: true,
    fallback: elsewhere,
    runsLong,
    query,
    frame: row as never,
    call: (input: PageInput): readonly Statement[] => [adminFrame(role), ...(statementsOf?.(input) ?? [])],
    view: (results, input, frame) => {
      const [[first], ...rows] = results as unknown as [[{ data: AdminFrame }], ...Results<Statement[]>];
      const admin = first.data;
      if (frame.organization?.id !== admin.organization_id) throw notFound("page");
      const { visit } = input;
      const words = visit.messages.admin[area];
      const values = read ? shownOf(rows, () => statementsOf?.(input) ?? []) : rows;
      const shown = view(values as never, { ...input, admin, words } as never, frame);
      return {
        title: shown.title,
        status: shown.status,
        noindex: true,
        section: "admin",
        head: (
          <>
            <link rel="stylesheet" href={adminStylesheet} data-turbo-track="dynamic" />
            <script type="module" src={adminScript} />
            {shown.head}
          </>
        ),
        side: <AdminSide area={area} admin={admin} frame={frame} />,
        content: (
          <AdminContent
            view={shown}
            done={doneMessage("done" in words ? words.done : {}, visit.query)}
            area={area}
            input={input}
          />
        ),
      };
    },
    actions: definition.actions?.map((action) => ("of" in action ? actionOf(area, path, action) : action)),
  });
}

function actionOf(area: AreaName, pagePath: string, { of, path, done, next, ...more }: AdminAction) {
  const own = `/admin${areas[area].path}`;
  const nextPath = (response: JsonResponse, at: At) => {
    if (typeof next === "function") return next(response, at);
    if (next !== undefined) return adminPath(at.visit, areas[area].path + filled(next, at.params));
    const { form } = at.visit;
    const named = form instanceof URLSearchParams ? ownPath(form.get("return_to")) : undefined;
    return named ?? adminPath(at.visit, areas[area].path);
  };
  // Forms take no API keys: a visitor signs in first. An endpoint of /organizations/:id is given no id: it means the page's.
  const route: Endpoint = { ...of, access: "person" };
  const { formPage: _, ...made } = {
    ...action(route, { ...more, path: own + (path ?? pagePath), ofOrganization: true }),
    endpoint: of,
    redirectTo: (response: JsonResponse, at: At) => {
      const says = typeof done === "function" ? done(response, at) : done && { done };
      const to = nextPath(response, at);
      return says ? withDone(to, says) : to;
    },
  };
  return made;
}

const AdminContent = ({
  view: { title, content, confirm, actions, trail, undo },
  done,
  area,
  input: { visit },
}: {
  view: AdminView;
  done: string | undefined;
  area: AreaName;
  input: PageInput<unknown>;
}) => {
  const frameWords = visit.messages.admin.frame;
  const steps = trail && [{ label: frameWords.areas[area], href: adminPath(visit, areas[area].path) }, ...trail];
  return (
    <>
      {steps && (
        <nav class="trail" aria-label={frameWords.trail}>
          <ol>
            {steps.map(({ label, href }) => (
              <li>
                <a href={href}>{label}</a>
              </li>
            ))}
          </ol>
        </nav>
      )}
      <div class="admin-head">
        <h1>{title}</h1>
        {actions}
      </div>
      {done && (
        <div class="notice done">
          <p class="with-icon" role="status">
            <Icon name="circle-check" />
            {done}
          </p>
          {undo}
        </div>
      )}
      {confirm && <Confirm back={steps?.at(-1)?.href ?? ""} {...confirm} />}
      {content}
    </>
  );
};

/** The message for the `done` parameter of the URL, from a fixed list. */
function doneMessage(done: DoneMessages, query: URLSearchParams): string | undefined {
  const code = query.get("done") ?? "";
  const message = Object.hasOwn(done, code) ? done[code] : undefined;
  const count = query.get("count") ?? "";
  return typeof message === "function" ? message(/^\d{1,6}$/.test(count) ? Number(count) : 1) : message;
}

type At = Parameters<NonNullable<Page["redirectTo"]>>[1];

function withDone(path: string, { done, count }: { done: string; count?: number }): string {
  const url = new URL(path, "http://site.invalid");
  url.searchParams.set("done", done);
  url.searchParams.delete("count");
  if (count !== undefined) url.searchParams.set("count", String(count));
  return url.pathname + url.search + url.hash;
}
