import { z } from "zod";
import { type PersonDetail, peopleQuery } from "../../../../shared/people.ts";
import { notFound } from "../../../_shared/http/api-error.ts";
import { commentAddress } from "../../../_shared/http/web-pages.ts";
import { adminFrame } from "../../../_shared/statements/admin-frame.ts";
import { personalData, searchPeople, showPerson } from "../../../_shared/statements/people.ts";
import { people as endpoints } from "../../../endpoints/people.ts";
import { Confirm } from "../../components/admin/confirm.tsx";
import { Person } from "../../components/admin/person.tsx";
import { Properties } from "../../components/admin/properties.tsx";
import { Stat } from "../../components/admin/stat.tsx";
import { DataTable, number } from "../../components/admin/table.tsx";
import { Button } from "../../components/button.tsx";
import { Day } from "../../components/day.tsx";
import { Field, Problem } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { Status } from "../../components/status.tsx";
import { formatNumber } from "../../format.ts";
import { maxLengthOf } from "../../limits-of-fields.ts";
import { endpointOf, plain } from "../../page.tsx";
import { adminPath, submissionPath } from "../../paths.ts";
import { useVisit, useWords } from "../../rendering.ts";
import type { Visit } from "../../visit.ts";
import { adminPage } from "./admin-page.tsx";
import { areas } from "./areas.ts";
import { PeopleTabs } from "./people.tsx";

const area = "people";
/** As many as `private.admin_search_people` finds. */
const maxFound = 50;
const numbers = ["submissions", "comments", "votes", "follows", "answers"] as const;

type Contribution = Omit<PersonDetail["newest_votes"][number], "status"> &
  Partial<PersonDetail["newest_submissions"][number] & PersonDetail["newest_comments"][number]>;

const base = (visit: Visit) => adminPath(visit, "/people/users");

const Trust = ({ of }: { of: Pick<PersonDetail, "role" | "is_trusted"> }) => {
  const words = useWords("people");
  return (
    <span class={`status ${of.is_trusted ? "completed" : "open"}`}>
      {of.role ? words.roles[of.role] : of.is_trusted ? words.trusted : words.notTrusted}
    </span>
  );
};

const users = adminPage({
  area,
  path: "/users",
  query: z.object({ search: z.string().trim().max(254).catch("") }).partial(),
  read: ({ query: { search = "" } }) => [searchPeople(search)],
  view: ([found], { visit, words, admin, query: { search = "" } }) => ({
    title: words.users,
    trail: [],
    content: (
      <>
        <PeopleTabs here="users" admin={admin} />
        <form method="get" action={base(visit)} class="filter">
          <Field
            name="search"
            label={words.search}
            hint={words.searchHint}
            type="search"
            value={search}
            maxlength={maxLengthOf(peopleQuery.shape.search)}
          />
          <Button icon="search">{words.find}</Button>
        </form>
        <section class="stack">
          <h2>{search ? words.found : words.recent}</h2>
          <DataTable
            id="people"
            caption={search ? words.found : words.recent}
            columns={[
              {
                label: words.name,
                cell: (one) => <Person {...one} avatar={one.avatar_url} href={`${base(visit)}/${one.id}`} />,
              },
              { label: words.trust, cell: (one) => <Trust of={one} /> },
              number("submissions", words.numbers.submissions),
              number("comments", words.numbers.comments),
              number("votes", words.numbers.votes),
            ]}
            rows={found}
            rowId={({ id }) => id}
            empty={<p>{search ? words.nobody : words.nobodyYet}</p>}
          />
          {found.length === maxFound && <p class="quiet">{words.first50(maxFound)}</p>}
        </section>
      </>
    ),
  }),
});

const user = adminPage({
  area,
  path: "/users/:id",
  read: ({ params: { id } }) => [showPerson(id)],
  view: ([of], { visit, words }) => {
    const path = `${base(visit)}/${of.id}`;
    return {
      title: of.name,
      trail: [{ label: words.users, href: base(visit) }],
      content: (
        <>
          <Problem />
          <section class="card stack">
            <Properties
              of={[
                [words.kind, words.kinds[of.kind]],
                [words.email, of.email],
                [words.since, <Day at={of.created_at} />],
                [words.trust, <Trust of={of} />],
              ]}
            />
            {of.role ? (
              <a class="link" href={adminPath(visit, `/people/members/${of.id}`)}>
                {words.onTeam}
              </a>
            ) : (
              <Form class="filter" hasProblem={false}>
                <Field
                  name="trusted"
                  label={words.decide}
                  hint={words.decideHint}
                  value={String(of.decided ?? "")}
                  options={{ "": words.decisions.none, true: words.decisions.trusted, false: words.decisions.checked }}
                />
                <Button>{words.save}</Button>
              </Form>
            )}
          </section>
          <dl class="stats">
            {numbers.map((what) => (
              <Stat label={words.numbers[what]} value={formatNumber(of[what], visit.locale)} />
            ))}
          </dl>
          {(["submissions", "comments", "votes"] as const).map((what) => (
            <Contributions label={words.numbers[what]} rows={of[`newest_${what}`]} />
          ))}
          <section class="stack">
            <h2>{words.data}</h2>
            <p class="quiet">{words.dataText}</p>
            <div class="buttons">
              <Button
                icon="download"
                href={`${path}/data.json`}
                download="person.json"
                data-turbo="false"
                label={words.export}
              />
              {!of.role && <Button kind="danger" href={`${path}/erase`} label={words.erase} />}
            </div>
          </section>
        </>
      ),
    };
  },
  actions: [
    {
      of: endpointOf(endpoints, "put", "/admin/people/:id/trust"),
      path: "/users/:id/trust",
      done: "trust",
      next: "/users/:id",
    },
  ],
});

const Contributions = ({ label, rows }: { label: string; rows: Contribution[] }) => {
  const visit = useVisit();
  return rows.length === 0 ? null : (
    <section class="stack">
      <h2>{label}</h2>
      <ul class="list">
        {rows.map(({ id, title, at, status, body, comment_id, moderation_state }) => (
          <li class="row plain">
            <div class="row-text">
              <h3 dir="auto">
                <a
                  href={comment_id ? commentAddress(submissionPath(id, title), comment_id) : submissionPath(id, title)}
                >
                  {title}
                </a>
              </h3>
              {body && <p>{body}</p>}
              <div class="facts">
                {status && <Status status={status} messages={visit.messages} />}
                {moderation_state && moderation_state !== "approved" && (
                  <span>{visit.messages.admin.people.states[moderation_state]}</span>
                )}
                <Day at={at} />
              </div>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
};

const eraseUser = adminPage({
  area,
  path: "/users/:id/erase",
  read: ({ params: { id } }) => [showPerson(id)],
  view: ([of], { visit, words }) => {
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
          submit={words.erase}
          back={path}
        />
      ),
    };
  },
  actions: [{ of: endpointOf(endpoints, "post", "/admin/people/:id/erase"), done: "erased", next: "/users" }],
});

/** Downloads the API's export of a user's data. */
const userData = plain({
  method: "get",
  path: `/admin${areas[area].path}/users/:id/data.json`,
  isData: true,
  access: "person",
  ofOrganization: true,
  runsLong: true,
  call: ({ params }) => [adminFrame("admin"), personalData(params.id)],
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

export const userPages = [users, user, eraseUser, userData];
