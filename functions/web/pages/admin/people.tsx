import { z } from "zod";
import { type MadeByMember, type newInviteAnswer, roleChange } from "../../../../shared/members.ts";
import { type MemberRole, memberRoles } from "../../../../shared/organizations.ts";
import type { Input, StatementEndpoint } from "../../../_shared/http/endpoint.ts";
import { environment } from "../../../_shared/runtime/environment.ts";
import type { AdminFrame } from "../../../_shared/statements/admin-frame.ts";
import { listInvites, listMembers, type Member, madeBy, showMember } from "../../../_shared/statements/members.ts";
import { organizationDetail } from "../../../_shared/statements/organizations.ts";
import { type DataOf, parsed } from "../../../_shared/statements/shapes.ts";
import { members as endpoints } from "../../../endpoints/members.ts";
import type { AreaTexts } from "../../../words/index.ts";
import { Confirm } from "../../components/admin/confirm.tsx";
import { Person } from "../../components/admin/person.tsx";
import { Properties } from "../../components/admin/properties.tsx";
import { Secret } from "../../components/admin/secret.tsx";
import { DataTable, day } from "../../components/admin/table.tsx";
import { Tabs } from "../../components/admin/tabs.tsx";
import { Button } from "../../components/button.tsx";
import { Day } from "../../components/day.tsx";
import { Field } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { Pages } from "../../components/next-page.tsx";
import { endpointOf } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import { useVisit, useWords } from "../../rendering.ts";
import type { Visit } from "../../visit.ts";
import { type AdminAction, adminPage } from "./admin-page.tsx";
import { isAtLeast } from "./areas.ts";

/** The token is null in the response to a repeated form. */
type NewInvite = Omit<DataOf<typeof newInviteAnswer>, "token"> & { token: string | null };

const area = "people";
const limit = 50;
const pageNumber = z.object({ page: z.coerce.number().int().min(1).max(1000).catch(1) });

const base = (visit: Visit) => adminPath(visit, "/people");

const ofApi = (method: "post" | "patch" | "delete", path: string) =>
  endpointOf(endpoints, method, `/organizations/:id${path}`);
const invite = ofApi("post", "/invites");
const revoke = ofApi("delete", "/invites/:invite_id");

const tabs = [
  ["team", ""],
  ["invites", "/invites"],
  ["users", "/users"],
] as const;

/** Team, invites and users; members see only the team. */
export const PeopleTabs = ({ here, admin }: { here: (typeof tabs)[number][0]; admin: AdminFrame }) => {
  const words = useWords("people");
  const visit = useVisit();
  return isAtLeast(admin.role, "admin") ? (
    <Tabs
      label={words.title}
      tabs={tabs.map(([name, path]) => ({ href: base(visit) + path, label: words[name], isHere: name === here }))}
    />
  ) : null;
};

const InviteLink = () => {
  const words = useWords("people");
  const visit = useVisit();
  return <Button kind="main" icon="plus" href={`${base(visit)}/invites/new`} label={words.invite} />;
};

const people = adminPage({
  area,
  role: "member",
  query: pageNumber,
  read: ({ query: { page } }) => [listMembers(undefined, { page, limit })],
  view: ([{ data: team, total }], { visit, words, admin, query }, frame) => ({
    title: words.title,
    actions: isAtLeast(admin.role, "admin") ? <InviteLink /> : undefined,
    content: (
      <>
        <PeopleTabs here="team" admin={admin} />
        <DataTable
          id="team"
          caption={words.team}
          columns={[
            {
              label: words.name,
              cell: (one) => (
                <Person {...one} id={one.user_id} href={memberPath(visit, one)}>
                  {one.user_id === frame.viewer?.id && <span class="quiet"> ({words.you})</span>}
                </Person>
              ),
            },
            { label: words.role, cell: ({ role }) => words.roles[role] },
            ...(admin.role === "owner"
              ? [
                  {
                    label: words.factor,
                    cell: ({ has_second_factor }: Member) => words.factorIs[has_second_factor ? "yes" : "no"],
                  },
                ]
              : []),
            day("joined_at", words.joined),
          ]}
          rows={team}
          rowId={({ user_id }) => user_id}
          empty=""
        />
        <Pages page={query.page} limit={limit} total={total} />
      </>
    ),
  }),
});

const memberPath = (visit: Visit, { user_id }: Member) => `${base(visit)}/members/${user_id}`;
/** The roles that the viewer can give, and what each of them can do. */
const RoleField = ({ value, admin: { role } }: { value?: MemberRole; admin: AdminFrame }) => {
  const words = useWords("people");
  const given = memberRoles.filter((one) => role === "owner" || one !== "owner").toReversed();
  const hint = given.map((one) => `${words.roles[one]}${words.colon}${words.roleTexts[one]}`).join(" · ");
  const options = given.map((one) => ({ value: one, label: words.roles[one] }));
  return <Field name="role" label={words.role} value={value} hint={hint} options={options} />;
};

type MadeProps = { made: MadeByMember[]; of: Member; label: string };

/** Items that the member created and that stay valid without them, with a checkbox to end them. */
const Made = ({ made, of, label }: MadeProps) => {
  const words = useWords("people");
  if (made.length === 0) return null;
  return (
    <div class="stack">
      <p>{words.made(of.name)}</p>
      <ul class="lost">
        {made.map(({ type, name }) => (
          <li>{`${words.madeTypes[type]}${words.colon}${name}`}</li>
        ))}
      </ul>
      <Field name="revoke" label={label} value="true" />
    </div>
  );
};

const member = adminPage({
  area,
  path: "/members/:user_id",
  role: "member",
  read: ({ params: { user_id } }) => [showMember(user_id), madeBy(user_id)],
  view: ([of, made], { visit, words, admin }, frame) => {
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
            <Properties
              of={[
                [words.email, of.email],
                [words.role, `${words.roles[of.role]}${words.colon}${words.roleTexts[of.role]}`],
                [words.joined, <Day at={of.joined_at} />],
                [words.factor, of.has_second_factor !== null && words.factorIs[of.has_second_factor ? "yes" : "no"]],
              ]}
            />
            {isAtLeast(admin.role, "admin") && (
              <a class="link" href={`${base(visit)}/users/${of.user_id}`}>
                {words.whatTheyDid}
              </a>
            )}
          </section>
          {mayChange && (
            <Form values={of} submit={words.save}>
              <h2>{words.changeRole}</h2>
              <RoleField admin={admin} />
              <Made made={made} of={of} label={words.revokeAsMember} />
            </Form>
          )}
          <div class="buttons">
            {isOwner && !isSelf && <Button href={`${path}/transfer`}>{words.transfer}</Button>}
            {of.has_second_factor && !isSelf && <Button href={`${path}/second-factor`}>{words.resetFactor}</Button>}
            {(isSelf || mayChange) && (
              <Button kind="danger" href={`${path}/remove`} label={isSelf ? words.leave : words.remove} />
            )}
          </div>
        </>
      ),
    };
  },
  actions: [{ of: ofApi("patch", "/members/:user_id"), done: "role" }],
});

const removal = ofApi("delete", "/members/:user_id") as StatementEndpoint;
/** A form has no query: its fields are the body. */
const removalByForm = {
  ...removal,
  query: undefined,
  body: roleChange.pick({ revoke: true }),
  call: (input: Input) => removal.call({ ...input, query: input.body } as never),
};

type Asked = Pick<Parameters<typeof Confirm>[0], "text" | "lost" | "hidden" | "submit"> & {
  /** Asks whether the items that the member created should end too. */
  revoke?: string;
};

/** Asks before something is done to a member. */
const asking = (
  path: string,
  role: MemberRole,
  action: AdminAction,
  ask: (of: Member, words: AreaTexts["people"], isSelf: boolean, visit: Visit) => Asked,
) =>
  adminPage({
    area,
    path: `/members/:user_id${path}`,
    role,
    read: ({ params: { user_id } }) => [showMember(user_id), madeBy(user_id)],
    view: ([of, made], { visit, words }, { viewer }) => {
      const { revoke, ...asked } = ask(of, words, of.user_id === viewer?.id, visit);
      return {
        title: asked.submit,
        trail: [{ label: of.name, href: memberPath(visit, of) }],
        content: (
          <Confirm {...asked} back={memberPath(visit, of)}>
            {revoke && <Made made={made} of={of} label={revoke} />}
          </Confirm>
        ),
      };
    },
    actions: [action],
  });

const removeMemberPage = asking(
  "/remove",
  "member",
  { of: removalByForm, done: "removed" },
  (of, words, isSelf, visit) => ({
    text: isSelf ? words.leaveText : words.removeText(of.name),
    lost: [isSelf ? words.leaveLost : words.removeLost],
    // After leaving, the caller has no page of this team.
    hidden: { return_to: isSelf ? "/me" : base(visit) },
    submit: isSelf ? words.leave : words.remove,
    revoke: words.revokeMade,
  }),
);

const resetFactorPage = asking(
  "/second-factor",
  "owner",
  { of: ofApi("delete", "/members/:user_id/second-factor"), done: "factorReset" },
  (of, words) => ({ text: words.resetFactorText(of.name), lost: [words.resetFactorLost], submit: words.resetFactor }),
);

const transferPage = asking(
  "/transfer",
  "owner",
  { of: ofApi("post", "/transfer"), done: "transferred" },
  (of, words) => ({
    text: words.transferText(of.name),
    lost: [words.transferLost],
    hidden: { user_id: of.user_id },
    submit: words.transfer,
  }),
);

// Invites --------------------------------------------------------------------------------------------------------

const invites = adminPage({
  area,
  path: "/invites",
  query: pageNumber,
  read: ({ query: { page } }) => [listInvites(undefined, { page, limit })],
  view: ([{ data: rows, total }], { visit, words, admin, query }) => {
    const made = visit.answered && parsed<{ data: NewInvite }>(visit.answered).data;
    return {
      title: words.invites,
      actions: <InviteLink />,
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
              />
              <p class="quiet" data-turbo-temporary>
                {made.is_mailed ? words.mailedText : words.linkText}
              </p>
            </>
          )}
          <PeopleTabs here="invites" admin={admin} />
          <DataTable
            id="invites"
            caption={words.invites}
            columns={[
              { label: words.email, cell: ({ email }) => email },
              { label: words.role, cell: ({ role }) => words.roles[role] },
              {
                label: words.state,
                cell: ({ status, expires_at }) => (
                  <span>
                    {words.inviteStates[status]}
                    {status === "open" && (
                      <span class="quiet">
                        {" · "}
                        {words.until} <Day at={expires_at} />
                      </span>
                    )}
                  </span>
                ),
              },
              { label: words.invitedBy, cell: ({ invited_by }) => invited_by?.name ?? "" },
              {
                label: words.actions,
                hasQuietLabel: true,
                cell: ({ id, email, role, status }) => (
                  <span class="row-actions">
                    {status !== "accepted" && (admin.role === "owner" || role !== "owner") && (
                      <Form of={invite} to={`${base(visit)}/invites`} hidden={{ email, role }} hasProblem={false}>
                        <Button kind="small" label={words.inviteAgain} of={email} />
                      </Form>
                    )}
                    {status === "open" && (
                      <Form of={revoke} to={`${base(visit)}/invites/${id}`} hasProblem={false}>
                        <Button kind="small danger" label={words.revoke} of={email} />
                      </Form>
                    )}
                  </span>
                ),
              },
            ]}
            rows={rows}
            rowId={({ id }) => id}
            empty={<p>{words.noInvites}</p>}
          />
          <Pages page={query.page} limit={limit} total={total} />
        </>
      ),
    };
  },
  actions: [{ of: revoke, path: "/invites/:invite_id", done: "revoked", next: "/invites" }],
});

const inviteAddress = (token: string) => `${environment.siteUrl}/invite?token=${encodeURIComponent(token)}`;

const newInvite = adminPage({
  area,
  path: "/invites/new",
  read: () => [organizationDetail()],
  view: ([{ mail_enabled }], { visit, words, admin }) => ({
    title: words.invite,
    trail: [{ label: words.invites, href: `${base(visit)}/invites` }],
    content: (
      <Form submit={mail_enabled ? words.mailInvite : words.makeLink} back={`${base(visit)}/invites`}>
        <Field name="email" label={words.email} hint={words.emailHint} autocomplete="off" />
        <RoleField value="member" admin={admin} />
      </Form>
    ),
  }),
  actions: [{ of: invite, path: "/invites", resultPage: invites }],
});

export const peoplePages = [people, member, removeMemberPage, resetFactorPage, transferPage, invites, newInvite];
