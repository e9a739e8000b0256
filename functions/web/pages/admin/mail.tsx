import { z } from "zod";
import { emailAddress } from "../../../../shared/fields.ts";
import { mailKinds, type mailSuppressionsAnswer, timingsOf } from "../../../../shared/mail.ts";
import { mailSuppressions } from "../../../_shared/statements/mail.ts";
import { organizationDetail } from "../../../_shared/statements/organizations.ts";
import type { DataOf } from "../../../_shared/statements/shapes.ts";
import { mail as endpoints } from "../../../endpoints/mail.ts";
import { organizations } from "../../../endpoints/organizations.ts";
import { Filters } from "../../components/admin/filters.tsx";
import { DataTable, day } from "../../components/admin/table.tsx";
import { Button } from "../../components/button.tsx";
import { Field, Problem } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { Icon } from "../../components/icon.tsx";
import { endpointOf } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import { useVisit, useWords } from "../../rendering.ts";
import { adminPage } from "./admin-page.tsx";

/** As many as `private.admin_mail_suppressions` lists. */
const maxStopped = 1000;

const change = endpointOf(organizations, "patch", "/organizations/:id");
const lift = endpointOf(endpoints, "delete", "/admin/mail-suppressions/:id");
const liftByAddress = endpointOf(endpoints, "delete", "/admin/mail-suppressions");

const mail = adminPage({
  area: "mail",
  query: z.object({ email: emailAddress.optional().catch(undefined) }),
  read: ({ query }) => [organizationDetail(), mailSuppressions(query.email)],
  view: ([organization, suppressions], { query, visit, words }) => {
    const { unconfirmed_mails, max_unconfirmed_mails } = organization.plan;
    return {
      title: words.title,
      content: (
        <>
          <p class="quiet lead">{words.text}</p>
          {unconfirmed_mails >= (max_unconfirmed_mails ?? Number.POSITIVE_INFINITY) && (
            <p class="warning">{words.usedUp}</p>
          )}
          <Form of={change} values={organization} submit={words.save}>
            <Field name="mail_enabled" label={words.enabled} hint={words.enabledHint} />
            {mailKinds.map((kind) => (
              <Field
                name={`mail_defaults.${kind}`}
                label={words.kinds[kind]}
                options={timingsOf(kind).map((timing) => ({
                  value: timing,
                  label: visit.messages.mail.choices[timing],
                }))}
              />
            ))}
          </Form>
          <section class="stack">
            <h2>{words.stopped}</h2>
            <p class="quiet">{words.stoppedText(maxStopped)}</p>
            {!(visit.refused && "endpoint" in visit.refused.action && visit.refused.action.endpoint === change) && (
              <Problem />
            )}
            <Filters
              class="filter"
              submit={
                <>
                  <Icon name="search" />
                  {words.find}
                </>
              }
            >
              <Field name="email" type="email" label={words.email} autocomplete="off" />
            </Filters>
            <Suppressions rows={suppressions} email={query.email} />
          </section>
        </>
      ),
    };
  },
  actions: [
    { of: change, done: "saved" },
    { of: liftByAddress, done: "lifted" },
    { of: lift, path: "/:id", done: "lifted" },
  ],
});

type SuppressionsProps = {
  rows: DataOf<typeof mailSuppressionsAnswer>;
  /** The address that was looked up. */
  email: string | undefined;
};

const Suppressions = ({ rows, email }: SuppressionsProps) => {
  const words = useWords("mail");
  const visit = useVisit();
  const path = adminPath(visit, "/settings/mail");
  return (
    <>
      <DataTable
        id="suppressions"
        caption={words.stopped}
        rows={rows.map((row, index) => ({ ...row, id: `stopped-${index}` }))}
        columns={[
          {
            label: words.name,
            cell: ({ profile }) =>
              profile ? (
                <a class="link" href={adminPath(visit, `/people/users/${profile.id}`)}>
                  {profile.name}
                </a>
              ) : (
                <span class="quiet">{words.noAccount}</span>
              ),
          },
          { label: words.reason, cell: ({ reason }) => words.reasons[reason] },
          day("created_at", words.since),
          {
            label: "",
            cell: ({ profile, reason }) =>
              (profile || email) &&
              reason === "bounced" && (
                <Form
                  of={profile ? lift : liftByAddress}
                  to={profile ? `${path}/${profile.id}` : `${path}?${new URLSearchParams({ email: email ?? "" })}`}
                  hasProblem={false}
                >
                  <Button label={words.lift} />
                </Form>
              ),
          },
        ]}
        empty={<p>{email ? words.notStopped : words.nobody}</p>}
      />
      {rows.some(({ reason }) => reason === "bounced") && <p class="quiet small">{words.liftHint}</p>}
    </>
  );
};

export const mailPages = [mail];
