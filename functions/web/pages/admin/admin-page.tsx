import type { JSX } from "hono/jsx/jsx-runtime";
import type { z } from "zod";
import type { Locale } from "../../../../shared/locales.ts";
import type { MemberRole } from "../../../../shared/organizations.ts";
import { isPathParameter } from "../../../../shared/path-parameters.ts";
import type { Results, Statement } from "../../../_shared/database/run.ts";
import { forbidden, notFound } from "../../../_shared/http/api-error.ts";
import type { Endpoint, Input, JsonResponse } from "../../../_shared/http/endpoint.ts";
import { type AdminFrame, adminFrame, myTeams } from "../../../_shared/statements/admin-frame.ts";
import type { Frame, FrameOf } from "../../../_shared/statements/pages.ts";
import { adminScript, adminStylesheet } from "../../assets.generated.ts";
import { AdminSide } from "../../components/admin/side.tsx";
import { Icon } from "../../components/icon.tsx";
import { frameMessages } from "../../messages/admin/index.ts";
import { action, type Page, type PageInput, page } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import { ownPath } from "../../visit.ts";
import { type AreaName, areas } from "./areas.ts";

/** An area's messages: `done` is what its actions say once they are done, by code. */
type AreaMessages = { done?: Record<string, string | ((count: number) => string)> };

type AdminInput<Query, Words> = PageInput<Query> & {
  admin: AdminFrame;
  words: Words;
};

/** The content of a page of the dashboard. */
type AdminView = {
  title: string;
  content: JSX.Element | string;
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
    if (teams.length === 0) throw forbidden("Only members of the organization may do this.");
    const words = frameMessages(visit.locale);
    const own = teams.find(({ id }) => id === organization?.id);
    if (own && own.role !== "member") throw notFound("page");
    const [title, text] = own
      ? [words.adminsOnly, words.adminsOnlyText]
      : [words.elsewhere, words.elsewhereText];
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

/** Declares a page of the dashboard, at /admin and /o/:organization/admin. The database decides who sees it. */
export function adminPage<
  const Statements extends readonly Statement[],
  Words extends object,
  Query extends z.ZodType | undefined = undefined,
>(definition: {
  area: AreaName;
  /** Below the area's. */
  path?: string;
  /** The least that may open it; an admin without. */
  role?: MemberRole;
  /** It may take seconds. */
  runsLong?: boolean;
  query?: Query;
  words: (locale: Locale) => Words;
  /** The row that the page is about: one of another organization is not found. */
  row?: (input: PageInput<Parsed<Query>>) => FrameOf;
  call: (input: PageInput<Parsed<Query>>) => Statements;
  view: (results: Results<Statements>, input: AdminInput<Parsed<Query>, Words>, frame: Frame) => AdminView;
}): Page {
  const { area, path = "", role = "admin", runsLong, query, words, row, call, view } = definition;
  return page({
    path: `/admin${areas[area].path}${path}`,
    access: "person",
    ofOrganization: true,
    fallback: elsewhere,
    runsLong,
    query,
    frame: row as never,
    call: (input: PageInput<unknown>) => [
      adminFrame(role),
      ...(call as (input: PageInput<unknown>) => readonly Statement[])(input),
    ],
    view: (results: unknown[][], input: PageInput<unknown>, frame: Frame) => {
      const [[first], ...own] = results as [[{ data: AdminFrame }], ...unknown[][]];
      const admin = first.data;
      if (frame.organization?.id !== admin.organization_id) throw notFound("page");
      const { visit } = input;
      const ownWords = words(visit.locale);
      const shown = view(own as never, { ...input, admin, words: ownWords } as never, frame);
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
        side: <AdminSide area={area} admin={admin} frame={frame} visit={visit} />,
        content: (
          <AdminContent
            view={shown}
            done={doneMessage(ownWords as AreaMessages, visit.query)}
            area={area}
            input={input}
          />
        ),
      };
    },
  } as never);
}

const AdminContent = ({
  view: { title, content, actions, trail, undo },
  done,
  area,
  input: { visit },
}: {
  view: AdminView;
  done: string | undefined;
  area: AreaName;
  input: PageInput<unknown>;
}) => {
  const frameWords = frameMessages(visit.locale);
  const steps = trail && [
    { label: frameWords.areas[area], href: adminPath(visit, areas[area].path) },
    ...trail,
  ];
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
      {content}
    </>
  );
};

/** The message for the `done` parameter of the URL, from a fixed list. */
function doneMessage({ done = {} }: AreaMessages, query: URLSearchParams): string | undefined {
  const code = query.get("done") ?? "";
  const message = Object.hasOwn(done, code) ? done[code] : undefined;
  const count = query.get("count") ?? "";
  return typeof message === "function" ? message(/^\d{1,6}$/.test(count) ? Number(count) : 1) : message;
}

type At = Parameters<NonNullable<Page["redirectTo"]>>[1];

/** Makes an endpoint of the API an action of the dashboard: the same input, statements and rules. */
export function adminAction(
  endpoint: Endpoint,
  {
    area,
    path = "",
    formPage,
    resultPage,
    isShown,
    readForm,
    params,
    doneMessage: said,
    redirectTo,
  }: {
    area: AreaName;
    /** Path of the form's action below the area. */
    path?: string;
    /** The page that has the form. */
    formPage: Page;
    /** Shows the response once, such as a secret, in `visit.answered`. The form needs data-turbo="false". */
    resultPage?: Page;
    /** Whether `resultPage` is shown, if that depends on the response, for example after partial failures. */
    isShown?: Page["isShown"];
    readForm?: Page["readForm"];
    /** Parameters of the endpoint's path that are fields of the form, such as the organization. */
    params?: Record<string, string>;
    /** Key in the area's `done` of the message on the next page, with the number of changed rows. */
    doneMessage?: string | ((response: JsonResponse, at: At) => { done: string; count?: number } | undefined);
    /** Path of the next page below the area; by default `return_to` of the form, otherwise the area. */
    redirectTo?: (response: JsonResponse, at: At) => string;
  },
): Page {
  const made = params ? withParams(endpoint, params) : endpoint;
  // Forms take no API keys: a visitor signs in first.
  const ofPages: Endpoint = { ...made, access: "person" };
  return action(ofPages, {
    path: `/admin${areas[area].path}${path}`,
    ofOrganization: true,
    formPage,
    resultPage,
    isShown,
    readForm,
    redirectTo: (response, at) => {
      const to =
        redirectTo?.(response, at) ??
        ownPath(at.visit.form instanceof URLSearchParams ? at.visit.form.get("return_to") : undefined) ??
        adminPath(at.visit, areas[area].path);
      const says = typeof said === "function" ? said(response, at) : said && { done: said };
      return says ? withDone(to, says) : to;
    },
  });
}

function withDone(path: string, { done, count }: { done: string; count?: number }): string {
  const url = new URL(path, "http://site.invalid");
  url.searchParams.set("done", done);
  url.searchParams.delete("count");
  if (count !== undefined) url.searchParams.set("count", String(count));
  return url.pathname + url.search + url.hash;
}

/** The endpoint, with parameters of its path taken from fields of the form. */
function withParams(endpoint: Endpoint, fields: Record<string, string>): Endpoint {
  if (endpoint.work) throw new Error(`${endpoint.path} takes its parameters from its path.`);
  const given = (input: Input): Input => {
    const { form } = (input as PageInput).visit;
    const params: Record<string, string> = { ...input.params };
    for (const [name, field] of Object.entries(fields)) {
      const value = (form instanceof URLSearchParams && form.get(field)) || "";
      if (!isPathParameter(name, value)) throw notFound("resource");
      params[name] = value;
    }
    return { ...input, params };
  };
  const { call, respond, precheck } = endpoint;
  return {
    ...endpoint,
    precheck: precheck && {
      authorize: ((input: Input) => precheck.authorize(given(input) as never)) as never,
      check: ((input: Input) => precheck.check(given(input) as never)) as never,
    },
    call: (input) => call(given(input)),
    respond: (results, input) => respond(results, given(input)),
  };
}
