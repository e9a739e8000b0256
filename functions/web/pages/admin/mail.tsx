import { z } from "zod";
import { emailAddress } from "../../../../shared/fields.ts";
import { mailKinds, type mailSuppressionsAnswer, timingsOf } from "../../../../shared/mail.ts";
import type { organizationDetailAnswer } from "../../../../shared/organizations.ts";
import { mailSuppressions } from "../../../_shared/statements/mail.ts";
import { organizationDetail } from "../../../_shared/statements/organizations.ts";
import { mail as endpoints } from "../../../endpoints/mail.ts";
import { organizations } from "../../../endpoints/organizations.ts";
import { CheckField } from "../../components/admin/check.tsx";
import { DataTable } from "../../components/admin/table.tsx";
import { Day } from "../../components/day.tsx";
import { Field, forForm, Problem } from "../../components/field.tsx";
import { Icon } from "../../components/icon.tsx";
import { type MailSettingsMessages, mailSettingsMessages } from "../../messages/admin/index.ts";
import { endpointOf, withoutEmpty } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import type { Visit } from "../../visit.ts";
import { adminAction, adminPage } from "./admin-page.tsx";

const area = "mail";
const path = "/settings/mail";

type Organization = z.output<typeof organizationDetailAnswer>["data"];
type Suppression = z.output<typeof mailSuppressionsAnswer>["data"][number];

const mail = adminPage({
  area,
  words: mailSettingsMessages,
  query: z.preprocess(withoutEmpty, z.object({ email: emailAddress.optional().catch(undefined) })),
  call: ({ query }) => [organizationDetail(), mailSuppressions(query.email)],
  view: ([[found], [listed]], { query, visit, words, admin }) => {
    const { mail_enabled, mail_defaults, plan }: Organization = JSON.parse(found?.data ?? "{}");
    const own = forForm(visit, (typed) => typed.has("organization_id"));
    return {
      title: words.title,
      content: (
        <>
          <p class="quiet lead">{words.text}</p>
          {plan.unconfirmed_mails >= (plan.max_unconfirmed_mails ?? Number.POSITIVE_INFINITY) && (
            <p class="warning">{words.usedUp}</p>
          )}
          <form method="post" action={adminPath(visit, path)} class="card settings-form">
            <Problem visit={own} />
            <input type="hidden" name="_method" value="patch" />
            <input type="hidden" name="organization_id" value={admin.organization_id} />
            <CheckField
              name="mail_enabled"
              label={words.enabled}
              hint={words.enabledHint}
              checked={mail_enabled}
              visit={own}
            />
            {mailKinds.map((kind) => (
              <Field
                name={`mail_defaults.${kind}`}
                label={words.kinds[kind]}
                value={mail_defaults[kind]}
                options={timingsOf(kind).map((timing) => ({
                  value: timing,
                  label: visit.messages.mail.choices[timing],
                }))}
                visit={own}
              />
            ))}
            <div class="buttons">
              <button type="submit" class="button main">
                {words.save}
              </button>
            </div>
          </form>
          <section class="stack">
            <h2>{words.stopped}</h2>
            <p class="quiet">{words.stoppedText}</p>
            <Problem visit={forForm(visit, (typed) => !typed.has("organization_id"))} />
            <form method="get" action={adminPath(visit, path)} class="filter">
              <Field
                name="email"
                label={words.email}
                type="email"
                value={query.email}
                maxlength={254}
                autocomplete="off"
                visit={visit}
              />
              <button type="submit" class="button">
                <Icon name="search" />
                {words.find}
              </button>
            </form>
            <Suppressions
              rows={JSON.parse(listed?.data ?? "[]")}
              email={query.email}
              empty={query.email ? words.notStopped : words.nobody}
              words={words}
              visit={visit}
            />
          </section>
        </>
      ),
    };
  },
});

const Suppressions = ({
  rows,
  email = "",
  empty,
  words,
  visit,
}: {
  rows: Suppression[];
  /** The address that was looked up. */
  email?: string | undefined;
  empty: string;
  words: MailSettingsMessages;
  visit: Visit;
}) => (
  <>
    <DataTable
      id="suppressions"
      caption={words.stopped}
      rows={rows.map((row, index) => ({ ...row, index }))}
      rowId={({ index }) => `stopped-${index}`}
      columns={[
        {
          key: "name",
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
        { key: "reason", label: words.reason, cell: ({ reason }) => words.reasons[reason] },
        {
          key: "since",
          label: words.since,
          cell: ({ created_at }) => <Day at={created_at} locale={visit.locale} />,
        },
        {
          key: "lift",
          label: "",
          cell: ({ profile, reason }) =>
            (profile || email) &&
            reason === "bounced" && (
              <form
                method="post"
                action={adminPath(
                  visit,
                  profile ? `${path}/${profile.id}` : `${path}?${new URLSearchParams({ email })}`,
                )}
              >
                <input type="hidden" name="_method" value="delete" />
                <button type="submit" class="button">
                  {words.lift}
                </button>
              </form>
            ),
        },
      ]}
      empty={<p>{empty}</p>}
      visit={visit}
    />
    {rows.some(({ reason }) => reason === "bounced") && <p class="quiet small">{words.liftHint}</p>}
  </>
);

export const mailPages = [
  mail,
  adminAction(endpointOf(organizations, "patch", "/organizations/:id"), {
    area,
    formPage: mail,
    params: { id: "organization_id" },
    doneMessage: "saved",
  }),
  adminAction(endpointOf(endpoints, "delete", "/admin/mail-suppressions"), {
    area,
    formPage: mail,
    doneMessage: "lifted",
  }),
  adminAction(endpointOf(endpoints, "delete", "/admin/mail-suppressions/:id"), {
    area,
    path: "/:id",
    formPage: mail,
    doneMessage: "lifted",
  }),
];
