import { z } from "zod";
import {
  type inviteListAnswer,
  type MadeByMember,
  type memberListAnswer,
  type newInviteAnswer,
  roleChange,
} from "../../../../shared/members.ts";
import { memberRoles, type organizationDetailAnswer } from "../../../../shared/organizations.ts";
import { notFound } from "../../../_shared/http/api-error.ts";
import type { Input, StatementEndpoint } from "../../../_shared/http/endpoint.ts";
import { environment } from "../../../_shared/runtime/environment.ts";
import type { AdminFrame } from "../../../_shared/statements/admin-frame.ts";
import {
  listInvites,
  listMembers,
  madeBy,
  showInvite,
  showMember,
} from "../../../_shared/statements/members.ts";
import { organizationDetail } from "../../../_shared/statements/organizations.ts";
import { members as endpoints } from "../../../endpoints/members.ts";
import { Cancel } from "../../components/admin/cancel.tsx";
import { CheckField } from "../../components/admin/check.tsx";
import { Confirm } from "../../components/admin/confirm.tsx";
import { Secret } from "../../components/admin/secret.tsx";
import { DataTable } from "../../components/admin/table.tsx";
import { Tabs } from "../../components/admin/tabs.tsx";
import { Avatar } from "../../components/avatar.tsx";
import { Day } from "../../components/day.tsx";
import { Field, Problem } from "../../components/field.tsx";
import { FormId } from "../../components/form-id.tsx";
import { Icon } from "../../components/icon.tsx";
import { type PeopleMessages, peopleMessages } from "../../messages/admin/index.ts";
import { action, endpointOf, page } from "../../page.tsx";
import { adminPath, hrefWith } from "../../paths.ts";
import type { Visit } from "../../visit.ts";
import { adminAction, adminPage } from "./admin-page.tsx";
import { isAtLeast } from "./areas.ts";

type Organization = z.output<typeof organizationDetailAnswer>["data"];
type Member = z.output<typeof memberListAnswer>["data"][number];
type Invite = z.output<typeof inviteListAnswer>["data"][number];
/** The token is null in the response to a repeated form. */
type NewInvite = Omit<z.output<typeof newInviteAnswer>["data"], "token"> & { token: string | null };

const area = "people";
const words = peopleMessages;
const limit = 50;
const pageNumber = z.object({ page: z.coerce.number().int().min(1).max(1000).catch(1) });

const base = (visit: Visit) => adminPath(visit, "/people");

/** Team, invites and users; members see only the team. */
export const PeopleTabs = ({ here, visit, words, admin }: TabsProps) =>
  isAtLeast(admin.role, "admin") ? (
    <Tabs
      label={words.title}
      tabs={[
        { href: base(visit), label: words.team, isHere: here === "team" },
        { href: `${base(visit)}/invites`, label: words.invites, isHere: here === "invites" },
        { href: `${base(visit)}/users`, label: words.users, isHere: here === "users" },
      ]}
    />
  ) : null;
type TabsProps = {
  here: "team" | "invites" | "users";
  visit: Visit;
  words: PeopleMessages;
  admin: AdminFrame;
};

/** Links to the pages before and after this one of a numbered list. */
const Pages = ({ page, total, visit }: { page: number; total: number; visit: Visit }) => {
  const { board } = visit.messages;
  const hasMore = page * limit < total;
  if (page === 1 && !hasMore) return null;
  return (
    <nav class="pages" aria-label={board.more}>
      {page > 1 && <a href={hrefWith(visit, { page: null })}>{board.first}</a>}
      {hasMore && (
        <a class="button" rel="next" href={hrefWith(visit, { page: String(page + 1) })}>
          {board.more}
        </a>
      )}
    </nav>
  );
};

const InviteLink = ({ visit, words }: { visit: Visit; words: PeopleMessages }) => (
  <a class="button main" href={`${base(visit)}/invites/new`}>
    <Icon name="plus" />
    {words.invite}
  </a>
);

const people = adminPage({
  area,
  role: "member",
  words,
  query: pageNumber,
  call: ({ query: { page } }) => [listMembers(undefined, { page, limit })],
  view: ([[list]], { visit, words, admin, query }, frame) => {
    const team: Member[] = JSON.parse(list?.data ?? "[]");
    return {
      title: words.title,
      actions: isAtLeast(admin.role, "admin") ? <InviteLink visit={visit} words={words} /> : undefined,
      content: (
        <>
          <PeopleTabs here="team" visit={visit} words={words} admin={admin} />
          <DataTable
            id="team"
            caption={words.team}
            columns={[
              {
                key: "name",
                label: words.name,
                cell: ({ user_id, name, avatar, email }) => (
                  <span class="person">
                    <Avatar name={name} url={avatar} />
                    <span>
                      <a class="link" href={`${base(visit)}/members/${user_id}`}>
                        {name}
                      </a>
                      {user_id === frame.viewer?.id && <span class="quiet"> ({words.you})</span>}
                      {email && <span class="quiet small person-email">{email}</span>}
                    </span>
                  </span>
                ),
              },
              { key: "role", label: words.role, cell: ({ role }) => words.roles[role] },
              ...(admin.role === "owner"
                ? [
                    {
                      key: "factor",
                      label: words.factor,
                      cell: ({ has_second_factor }: Member) =>
                        words.factorIs[has_second_factor ? "yes" : "no"],
                    },
                  ]
                : []),
              {
                key: "joined",
                label: words.joined,
                cell: ({ joined_at }) => <Day at={joined_at} locale={visit.locale} />,
              },
            ]}
            rows={team}
            rowId={({ user_id }) => user_id}
            empty=""
            visit={visit}
          />
          <Pages page={query.page} total={list?.total ?? 0} visit={visit} />
        </>
      ),
    };
  },
});

function memberOf([row]: readonly { data: string }[]): Member {
  if (!row) throw notFound("member");
  return JSON.parse(row.data);
}
const memberPath = (visit: Visit, { user_id }: Member) => `${base(visit)}/members/${user_id}`;
const roleOptions = (words: PeopleMessages, { role }: AdminFrame) =>
  memberRoles
    .filter((one) => role === "owner" || one !== "owner")
    .toReversed()
    .map((value) => ({ value, label: `${words.roles[value]}: ${words.roleTexts[value]}` }));

type MadeProps = { rows: readonly { data: string }[]; of: Member; label: string; visit: Visit };

/** What the member made that works on without them, and a checkbox to end it. */
const Made = ({ rows, of, label, visit }: MadeProps) => {
  const made: MadeByMember[] = JSON.parse(rows[0]?.data ?? "[]");
  const own = words(visit.locale);
  if (made.length === 0) return null;
  return (
    <div class="stack">
      <p>{own.made(of.name)}</p>
      <ul class="lost">
        {made.map(({ type, name }) => (
          <li>
            {own.madeTypes[type]}: {name}
          </li>
        ))}
      </ul>
      <CheckField name="revoke" label={label} checked visit={visit} />
    </div>
  );
};

const member = adminPage({
  area,
  path: "/members/:user_id",
  role: "member",
  words,
  call: ({ params: { user_id = "" } }) => [showMember(user_id), madeBy(user_id)],
  view: ([rows, made], { visit, words, admin }, frame) => {
    const of = memberOf(rows);
    const isSelf = of.user_id === frame.viewer?.id;
    const isOwner = admin.role === "owner";
    const mayChange = isOwner || (admin.role === "admin" && of.role !== "owner");
    const path = memberPath(visit, of);
    return {
      title: of.name,
      trail: [],
      content: (
        <>
          <section class="card stack">
            <dl class="properties">
              {of.email && (
                <>
                  <dt>{words.email}</dt>
                  <dd>{of.email}</dd>
                </>
              )}
              <dt>{words.role}</dt>
              <dd>
                {words.roles[of.role]}: {words.roleTexts[of.role]}
              </dd>
              <dt>{words.joined}</dt>
              <dd>
                <Day at={of.joined_at} locale={visit.locale} />
              </dd>
              {of.has_second_factor !== null && (
                <>
                  <dt>{words.factor}</dt>
                  <dd>{words.factorIs[of.has_second_factor ? "yes" : "no"]}</dd>
                </>
              )}
            </dl>
            {isAtLeast(admin.role, "admin") && (
              <a class="link" href={`${base(visit)}/users/${of.user_id}`}>
                {words.whatTheyDid}
              </a>
            )}
          </section>
          {mayChange && (
            <form method="post" action={path} class="card settings-form">
              <Problem visit={visit} />
              <h2>{words.changeRole}</h2>
              <input type="hidden" name="_method" value="patch" />
              <input type="hidden" name="organization_id" value={admin.organization_id} />
              <Field
                name="role"
                label={words.role}
                value={of.role}
                options={roleOptions(words, admin)}
                visit={visit}
              />
              <Made rows={made} of={of} label={words.revokeAsMember} visit={visit} />
              <div class="buttons">
                <button type="submit" class="button main">
                  {words.save}
                </button>
              </div>
            </form>
          )}
          <div class="buttons">
            {isOwner && !isSelf && (
              <a class="button" href={`${path}/transfer`}>
                {words.transfer}
              </a>
            )}
            {of.has_second_factor && !isSelf && (
              <a class="button" href={`${path}/second-factor`}>
                {words.resetFactor}
              </a>
            )}
            {(isSelf || mayChange) && (
              <a class="button danger" href={`${path}/remove`}>
                {isSelf ? words.leave : words.remove}
              </a>
            )}
          </div>
        </>
      ),
    };
  },
});

const removeMemberPage = adminPage({
  area,
  path: "/members/:user_id/remove",
  role: "member",
  words,
  call: ({ params: { user_id = "" } }) => [showMember(user_id), madeBy(user_id)],
  view: ([rows, made], { visit, words, admin }, frame) => {
    const of = memberOf(rows);
    const isSelf = of.user_id === frame.viewer?.id;
    return {
      title: isSelf ? words.leave : words.remove,
      trail: [{ label: of.name, href: memberPath(visit, of) }],
      content: (
        <Confirm
          text={isSelf ? words.leaveText : words.removeText(of.name)}
          lost={isSelf ? [words.leaveLost] : [words.removeLost]}
          action={`${memberPath(visit, of)}/remove`}
          fields={[
            ["organization_id", admin.organization_id],
            ["_method", "delete"],
            // After leaving, the caller has no page of this team.
            ["return_to", isSelf ? "/me" : base(visit)],
          ]}
          submit={isSelf ? words.leave : words.remove}
          back={memberPath(visit, of)}
          visit={visit}
        >
          <Made rows={made} of={of} label={words.revokeMade} visit={visit} />
        </Confirm>
      ),
    };
  },
});

const resetFactorPage = adminPage({
  area,
  path: "/members/:user_id/second-factor",
  role: "owner",
  words,
  call: ({ params }) => [showMember(params.user_id ?? "")],
  view: ([rows], { visit, words, admin }) => {
    const of = memberOf(rows);
    return {
      title: words.resetFactor,
      trail: [{ label: of.name, href: memberPath(visit, of) }],
      content: (
        <Confirm
          text={words.resetFactorText(of.name)}
          lost={[words.resetFactorLost]}
          action={`${memberPath(visit, of)}/second-factor`}
          fields={[
            ["organization_id", admin.organization_id],
            ["_method", "delete"],
          ]}
          submit={words.resetFactor}
          back={memberPath(visit, of)}
          visit={visit}
        />
      ),
    };
  },
});

const transferPage = adminPage({
  area,
  path: "/members/:user_id/transfer",
  role: "owner",
  words,
  call: ({ params }) => [showMember(params.user_id ?? "")],
  view: ([rows], { visit, words, admin }) => {
    const of = memberOf(rows);
    return {
      title: words.transfer,
      trail: [{ label: of.name, href: memberPath(visit, of) }],
      content: (
        <Confirm
          text={words.transferText(of.name)}
          lost={[words.transferLost]}
          action={`${memberPath(visit, of)}/transfer`}
          fields={[
            ["organization_id", admin.organization_id],
            ["user_id", of.user_id],
          ]}
          submit={words.transfer}
          back={memberPath(visit, of)}
          visit={visit}
        />
      ),
    };
  },
});

// Invites --------------------------------------------------------------------------------------------------------

const invites = adminPage({
  area,
  path: "/invites",
  words,
  query: pageNumber,
  call: ({ query: { page } }) => [listInvites(undefined, { page, limit })],
  view: ([[list]], { visit, words, admin, query }) => {
    const rows: Invite[] = JSON.parse(list?.data ?? "[]");
    const made = visit.answered && (JSON.parse(visit.answered).data as NewInvite);
    return {
      title: words.invites,
      actions: <InviteLink visit={visit} words={words} />,
      trail: [],
      content: (
        <>
          {made && (
            <>
              <Secret
                id="invite-link"
                label={words.linkFor(made.email)}
                secret={made.token === null ? null : inviteAddress(made.token)}
                gone={words.linkGone}
                visit={visit}
              />
              <p class="quiet" data-turbo-temporary>
                {made.is_mailed ? words.mailedText : words.linkText}
              </p>
            </>
          )}
          <PeopleTabs here="invites" visit={visit} words={words} admin={admin} />
          <DataTable
            id="invites"
            caption={words.invites}
            columns={[
              { key: "email", label: words.email, cell: ({ email }) => email },
              { key: "role", label: words.role, cell: ({ role }) => words.roles[role] },
              {
                key: "state",
                label: words.state,
                cell: ({ status, expires_at }) => (
                  <span>
                    {words.inviteStates[status]}
                    {status === "open" && (
                      <span class="quiet">
                        {", "}
                        {words.until} <Day at={expires_at} locale={visit.locale} />
                      </span>
                    )}
                  </span>
                ),
              },
              { key: "by", label: words.invitedBy, cell: ({ invited_by }) => invited_by?.name ?? "" },
              {
                key: "actions",
                label: words.actions,
                hasQuietLabel: true,
                cell: ({ id, email, role, status }) => (
                  <span class="row-actions">
                    {status !== "accepted" && (admin.role === "owner" || role !== "owner") && (
                      <form method="post" action={`${base(visit)}/invites`} data-turbo="false">
                        <FormId />
                        <input type="hidden" name="organization_id" value={admin.organization_id} />
                        <input type="hidden" name="email" value={email} />
                        <input type="hidden" name="role" value={role} />
                        <button
                          type="submit"
                          class="button small"
                          aria-label={`${words.inviteAgain}: ${email}`}
                        >
                          {words.inviteAgain}
                        </button>
                      </form>
                    )}
                    {status === "open" && (
                      <form method="post" action={`${base(visit)}/invites/${id}`}>
                        <input type="hidden" name="_method" value="delete" />
                        <input type="hidden" name="organization_id" value={admin.organization_id} />
                        <button
                          type="submit"
                          class="button small danger"
                          aria-label={`${words.revoke}: ${email}`}
                        >
                          {words.revoke}
                        </button>
                      </form>
                    )}
                  </span>
                ),
              },
            ]}
            rows={rows}
            rowId={({ id }) => id}
            empty={<p>{words.noInvites}</p>}
            visit={visit}
          />
          <Pages page={query.page} total={list?.total ?? 0} visit={visit} />
        </>
      ),
    };
  },
});

const inviteAddress = (token: string) => `${environment.siteUrl}/invite?token=${encodeURIComponent(token)}`;

const newInvite = adminPage({
  area,
  path: "/invites/new",
  words,
  call: () => [organizationDetail()],
  view: ([[found]], { visit, words, admin }) => {
    const { mail_enabled }: Organization = JSON.parse(found?.data ?? "{}");
    return {
      title: words.invite,
      trail: [{ label: words.invites, href: `${base(visit)}/invites` }],
      content: (
        <form method="post" action={`${base(visit)}/invites`} class="card settings-form" data-turbo="false">
          <Problem visit={visit} />
          <FormId />
          <input type="hidden" name="organization_id" value={admin.organization_id} />
          <Field
            name="email"
            label={words.email}
            hint={words.emailHint}
            type="email"
            required
            maxlength={254}
            autocomplete="off"
            visit={visit}
          />
          <Field
            name="role"
            label={words.role}
            value="member"
            options={roleOptions(words, admin)}
            visit={visit}
          />
          <div class="buttons">
            <button type="submit" class="button main">
              {mail_enabled ? words.mailInvite : words.makeLink}
            </button>
            <Cancel href={`${base(visit)}/invites`} visit={visit} />
          </div>
        </form>
      ),
    };
  },
});

/** The page of an invite's link, where a user with the invited address joins the team. */
const acceptInvitePage = page({
  path: "/invite",
  access: "person",
  query: z.object({ token: z.string().max(200).optional() }),
  call: ({ query, visit }) => [showInvite(tokenOf(visit, query))],
  view: ([[found]], { visit, query }, { viewer }) => {
    const words = peopleMessages(visit.locale);
    const invite = found?.data;
    return {
      title: words.acceptTitle,
      noindex: true,
      content: (
        <section class="card narrow stack">
          <h1>{words.acceptTitle}</h1>
          {!invite ? (
            <p>{words.acceptErrors.NOT_FOUND}</p>
          ) : !invite.is_for_caller ? (
            <>
              <p>{words.acceptErrors.FORBIDDEN}</p>
              <form method="post" action="/sign-out" data-turbo="false">
                <button type="submit" class="button">
                  {visit.messages.nav.signOut}
                </button>
              </form>
            </>
          ) : invite.status === "open" ? (
            <>
              <p>{words.acceptInto(invite.organization, words.roles[invite.role])}</p>
              <p class="quiet">{words.acceptText(viewer?.name ?? "")}</p>
              <form method="post" action="/invite" class="stack" data-turbo="false">
                <Problem visit={visit} />
                <input type="hidden" name="token" value={tokenOf(visit, query)} />
                <button type="submit" class="button main">
                  {words.accept}
                </button>
              </form>
            </>
          ) : (
            <p>{words.acceptErrors.GONE}</p>
          )}
        </section>
      ),
    };
  },
});

const tokenOf = (visit: Visit, { token }: { token?: string }) =>
  token ?? visit.refused?.typed.get("token") ?? "";

const ofApi = (method: "post" | "patch" | "delete", path: string) =>
  endpointOf(endpoints, method, `/organizations/:id${path}`);
const params = { id: "organization_id" };
const removal = ofApi("delete", "/members/:user_id") as StatementEndpoint;
const removalOf = (input: Input) => removal.call({ ...input, query: input.body });

export const peoplePages = [
  people,
  member,
  removeMemberPage,
  resetFactorPage,
  transferPage,
  invites,
  newInvite,
  acceptInvitePage,
  action(endpointOf(endpoints, "post", "/invites/accept"), {
    path: "/invite",
    formPage: acceptInvitePage,
    errorTexts: (locale) => words(locale).acceptErrors,
    redirectTo: ({ json }) => `/o/${JSON.parse(json).data.organization.slug}/admin/people`,
  }),
  adminAction(ofApi("patch", "/members/:user_id"), {
    area,
    path: "/members/:user_id",
    formPage: member,
    params,
    doneMessage: "role",
  }),
  // A form has no query.
  adminAction(
    { ...removal, query: undefined, body: roleChange.pick({ revoke: true }), call: removalOf },
    {
      area,
      path: "/members/:user_id/remove",
      formPage: removeMemberPage,
      params,
      doneMessage: "removed",
    },
  ),
  adminAction(ofApi("delete", "/members/:user_id/second-factor"), {
    area,
    path: "/members/:user_id/second-factor",
    formPage: resetFactorPage,
    params,
    doneMessage: "factorReset",
  }),
  adminAction(ofApi("post", "/transfer"), {
    area,
    path: "/members/:user_id/transfer",
    formPage: transferPage,
    params,
    doneMessage: "transferred",
  }),
  adminAction(ofApi("post", "/invites"), {
    area,
    path: "/invites",
    formPage: newInvite,
    resultPage: invites,
    params,
  }),
  adminAction(ofApi("delete", "/invites/:invite_id"), {
    area,
    path: "/invites/:invite_id",
    formPage: invites,
    params,
    doneMessage: "revoked",
    redirectTo: (_response, { visit }) => `${base(visit)}/invites`,
  }),
];
