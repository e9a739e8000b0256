import { z } from "zod";
import type { PersonDetail } from "../../../../shared/people.ts";
import type { SubmissionStatus } from "../../../../shared/submissions.ts";
import { notFound } from "../../../_shared/http/api-error.ts";
import { adminFrame } from "../../../_shared/statements/admin-frame.ts";
import { personalData, searchPeople, showPerson } from "../../../_shared/statements/people.ts";
import { people as endpoints } from "../../../endpoints/people.ts";
import { Confirm } from "../../components/admin/confirm.tsx";
import { Stat } from "../../components/admin/stat.tsx";
import { type Column, DataTable } from "../../components/admin/table.tsx";
import { Avatar } from "../../components/avatar.tsx";
import { Day } from "../../components/day.tsx";
import { Field, Problem } from "../../components/field.tsx";
import { Icon } from "../../components/icon.tsx";
import { Status } from "../../components/status.tsx";
import { formatNumber } from "../../format.ts";
import { type PeopleMessages, peopleMessages } from "../../messages/admin/index.ts";
import { endpointOf, plain } from "../../page.tsx";
import { adminPath, submissionPath } from "../../paths.ts";
import type { Visit } from "../../visit.ts";
import { adminAction, adminPage } from "./admin-page.tsx";
import { areas } from "./areas.ts";
import { PeopleTabs } from "./people.tsx";

const area = "people";
const words = peopleMessages;
const numbers = ["submissions", "comments", "votes", "follows", "answers"] as const;

type Person = Pick<
  PersonDetail,
  (typeof numbers)[number] | "id" | "name" | "email" | "avatar_url" | "role" | "is_trusted"
>;
type Contribution = (
  | PersonDetail["newest_submissions"][number]
  | PersonDetail["newest_comments"][number]
  | PersonDetail["newest_votes"][number]
) & {
  status?: SubmissionStatus;
  body?: string;
  comment_id?: string;
  moderation_state?: PersonDetail["newest_comments"][number]["moderation_state"];
};

const base = (visit: Visit) => adminPath(visit, "/people/users");

const Trust = ({ of, words }: { of: Person; words: PeopleMessages }) => (
  <span class={`status ${of.is_trusted ? "completed" : "open"}`}>
    {of.role ? words.roles[of.role] : of.is_trusted ? words.trusted : words.notTrusted}
  </span>
);

const users = adminPage({
  area,
  path: "/users",
  words,
  query: z.object({ search: z.string().trim().max(254).catch("") }).partial(),
  call: ({ query: { search = "" } }) => [searchPeople(search)],
  view: ([[found]], { visit, words, admin, query: { search = "" } }) => {
    const list: Person[] = JSON.parse(found?.data ?? "[]");
    const columns: Column<Person>[] = [
      {
        key: "name",
        label: words.name,
        cell: ({ id, name, avatar_url, email }) => (
          <span class="person">
            <Avatar name={name} url={avatar_url} />
            <span>
              <a class="link" href={`${base(visit)}/${id}`}>
                {name}
              </a>
              {email && <span class="quiet small person-email">{email}</span>}
            </span>
          </span>
        ),
      },
      { key: "trust", label: words.trust, cell: (of) => <Trust of={of} words={words} /> },
      ...(["submissions", "comments", "votes"] as const).map((what) => ({
        key: what,
        label: words.numbers[what],
        isNumber: true,
        cell: (of: Person) => formatNumber(of[what], visit.locale),
      })),
    ];
    return {
      title: words.users,
      trail: [],
      content: (
        <>
          <PeopleTabs here="users" visit={visit} words={words} admin={admin} />
          <form method="get" action={base(visit)} class="filter">
            <Field
              name="search"
              label={words.search}
              hint={words.searchHint}
              type="search"
              value={search}
              maxlength={254}
              visit={visit}
            />
            <button type="submit" class="button">
              <Icon name="search" />
              {words.find}
            </button>
          </form>
          <section class="stack">
            <h2>{search ? words.found : words.recent}</h2>
            <DataTable
              id="people"
              caption={search ? words.found : words.recent}
              columns={columns}
              rows={list}
              rowId={({ id }) => id}
              empty={<p>{search ? words.nobody : words.nobodyYet}</p>}
              visit={visit}
            />
            {list.length === 50 && <p class="quiet">{words.first50}</p>}
          </section>
        </>
      ),
    };
  },
});

function personOf([row]: readonly { data: string | null }[]): PersonDetail {
  if (!row?.data) throw notFound("person");
  return JSON.parse(row.data);
}

const user = adminPage({
  area,
  path: "/users/:id",
  words,
  call: ({ params }) => [showPerson(params.id ?? "")],
  view: ([rows], { visit, words }) => {
    const of = personOf(rows);
    const path = `${base(visit)}/${of.id}`;
    return {
      title: of.name,
      trail: [{ label: words.users, href: base(visit) }],
      content: (
        <>
          <Problem visit={visit} />
          <section class="card stack">
            <dl class="properties">
              <dt>{words.kind}</dt>
              <dd>{words.kinds[of.kind]}</dd>
              {of.email && (
                <>
                  <dt>{words.email}</dt>
                  <dd>{of.email}</dd>
                </>
              )}
              <dt>{words.since}</dt>
              <dd>
                <Day at={of.created_at} locale={visit.locale} />
              </dd>
              <dt>{words.trust}</dt>
              <dd>
                <Trust of={of} words={words} />
              </dd>
            </dl>
            {of.role ? (
              <a class="link" href={adminPath(visit, `/people/members/${of.id}`)}>
                {words.onTeam}
              </a>
            ) : (
              <form method="post" action={`${path}/trust`} class="filter">
                <input type="hidden" name="_method" value="put" />
                <Field
                  name="trusted"
                  label={words.decide}
                  hint={words.decideHint}
                  value={String(of.decided ?? "")}
                  options={[
                    { value: "", label: words.decisions.none },
                    { value: "true", label: words.decisions.trusted },
                    { value: "false", label: words.decisions.checked },
                  ]}
                  visit={visit}
                />
                <button type="submit" class="button">
                  {words.save}
                </button>
              </form>
            )}
          </section>
          <dl class="stats">
            {numbers.map((what) => (
              <Stat label={words.numbers[what]} value={formatNumber(of[what], visit.locale)} visit={visit} />
            ))}
          </dl>
          <Contributions label={words.numbers.submissions} rows={of.newest_submissions} visit={visit} />
          <Contributions label={words.numbers.comments} rows={of.newest_comments} visit={visit} />
          <Contributions label={words.numbers.votes} rows={of.newest_votes} visit={visit} />
          <section class="stack">
            <h2>{words.data}</h2>
            <p class="quiet">{words.dataText}</p>
            <div class="buttons">
              <a class="button" href={`${path}/data.json`} download="person.json" data-turbo="false">
                <Icon name="download" />
                {words.export}
              </a>
              {!of.role && (
                <a class="button danger" href={`${path}/erase`}>
                  {words.erase}
                </a>
              )}
            </div>
          </section>
        </>
      ),
    };
  },
});

const Contributions = ({ label, rows, visit }: { label: string; rows: Contribution[]; visit: Visit }) =>
  rows.length === 0 ? null : (
    <section class="stack">
      <h2>{label}</h2>
      <ul class="list">
        {rows.map(({ id, title, at, status, body, comment_id, moderation_state }) => (
          <li class="row plain">
            <div class="row-text">
              <h3>
                <a href={submissionPath(id, title) + (comment_id ? `#comment-${comment_id}` : "")}>{title}</a>
              </h3>
              {body && <p>{body}</p>}
              <div class="facts">
                {status && <Status status={status} messages={visit.messages} />}
                {moderation_state && moderation_state !== "approved" && (
                  <span>{peopleMessages(visit.locale).states[moderation_state]}</span>
                )}
                <Day at={at} locale={visit.locale} />
              </div>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );

const eraseUser = adminPage({
  area,
  path: "/users/:id/erase",
  words,
  call: ({ params }) => [showPerson(params.id ?? "")],
  view: ([rows], { visit, words }) => {
    const of = personOf(rows);
    const path = `${base(visit)}/${of.id}`;
    return {
      title: words.erase,
      trail: [
        { label: words.users, href: base(visit) },
        { label: of.name, href: path },
      ],
      content: (
        <Confirm
          text={words.eraseText(of.name)}
          lost={[words.eraseLost.name, words.eraseLost.private, words.eraseLost.final]}
          action={`${path}/erase`}
          submit={words.erase}
          back={path}
          visit={visit}
        />
      ),
    };
  },
});

/** Downloads the API's export of a user's data. */
const userData = plain({
  method: "get",
  path: `/admin${areas[area].path}/users/:id/data.json`,
  isData: true,
  access: "person",
  ofOrganization: true,
  runsLong: true,
  call: ({ params }) => [adminFrame("admin"), personalData(params.id ?? "")],
  respond: ([, [found]]) => {
    if (!found?.data) throw notFound("person");
    return {
      status: 200,
      json: found.data,
      headers: {
        "Content-Type": "application/json; charset=utf-8",
        "Content-Disposition": 'attachment; filename="person.json"',
      },
    };
  },
});

export const userPages = [
  users,
  user,
  eraseUser,
  userData,
  adminAction(endpointOf(endpoints, "put", "/admin/people/:id/trust"), {
    area,
    path: "/users/:id/trust",
    formPage: user,
    doneMessage: "trust",
    redirectTo: (_response, { visit, params }) => `${base(visit)}/${params.id}`,
  }),
  adminAction(endpointOf(endpoints, "post", "/admin/people/:id/erase"), {
    area,
    path: "/users/:id/erase",
    formPage: eraseUser,
    doneMessage: "erased",
    redirectTo: (_response, { visit }) => base(visit),
  }),
];
