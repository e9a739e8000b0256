import type { z } from "zod";
import { locales } from "../../../../shared/locales.ts";
import type { organizationDetailAnswer } from "../../../../shared/organizations.ts";
import { organizationDetail } from "../../../_shared/statements/organizations.ts";
import { organizations } from "../../../endpoints/organizations.ts";
import { CheckField } from "../../components/admin/check.tsx";
import { Field, Problem } from "../../components/field.tsx";
import { generalMessages } from "../../messages/admin/index.ts";
import { endpointOf } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import type { Visit } from "../../visit.ts";
import { adminAction, adminPage } from "./admin-page.tsx";

const area = "general";
const path = "/settings/general";

type Organization = z.output<typeof organizationDetailAnswer>["data"];

/** Each language by its own name. */
const languages = locales.map((value) => ({
  value,
  label: new Intl.DisplayNames(value, { type: "language" }).of(value) ?? value,
}));

/** Those of this runtime, with the one that is set: Postgres may know more. */
const timeZones = (current: string) =>
  [...new Set(["UTC", current, ...Intl.supportedValuesOf("timeZone")])]
    .sort()
    .map((value) => ({ value, label: value.replaceAll("_", " ") }));

const general = adminPage({
  area,
  words: generalMessages,
  call: () => [organizationDetail()],
  view: ([[found]], { visit, words, admin }) => {
    const organization: Organization = JSON.parse(found?.data ?? "{}");
    const optionsOf = (texts: Record<string, string>) =>
      Object.entries(texts).map(([value, label]) => ({ value, label }));
    return {
      title: words.title,
      content: (
        <form method="post" action={adminPath(visit, path)} class="card settings-form">
          <Problem visit={visit} />
          <input type="hidden" name="_method" value="patch" />
          <input type="hidden" name="organization_id" value={admin.organization_id} />
          <h2>{words.board}</h2>
          <Field
            name="name"
            label={words.name}
            value={organization.name}
            required
            maxlength={100}
            autocomplete="off"
            visit={visit}
          />
          <Field
            name="slug"
            label={words.slug}
            hint={words.slugHint}
            value={organization.slug}
            required
            maxlength={60}
            autocomplete="off"
            visit={visit}
          />
          <Field
            name="visibility"
            label={words.visibility}
            hint={words.visibilityHint}
            value={organization.visibility}
            options={optionsOf(words.visibilities)}
            visit={visit}
          />
          <CheckField
            name="allow_indexing"
            label={words.indexing}
            hint={words.indexingHint}
            checked={organization.allow_indexing}
            visit={visit}
          />
          <Field
            name="default_locale"
            label={words.language}
            hint={words.languageHint}
            value={organization.default_locale}
            options={languages}
            visit={visit}
          />
          <Field
            name="time_zone"
            label={words.timeZone}
            hint={words.timeZoneHint}
            value={organization.time_zone}
            options={timeZones(organization.time_zone)}
            visit={visit}
          />
          <h2>{words.participation}</h2>
          <Field
            name="anonymous_may"
            label={words.anonymous}
            hint={words.anonymousHint}
            value={organization.anonymous_may}
            options={optionsOf(words.rights)}
            visit={visit}
          />
          <CheckField
            name="require_approval"
            label={words.approval}
            hint={words.approvalHint}
            checked={organization.require_approval}
            visit={visit}
          />
          <Field
            name="trust_after"
            label={words.trustAfter}
            hint={words.trustAfterHint}
            value={organization.trust_after === null ? "" : String(organization.trust_after)}
            maxlength={4}
            autocomplete="off"
            visit={visit}
          />
          <div class="buttons">
            <button type="submit" class="button main">
              {words.save}
            </button>
          </div>
        </form>
      ),
    };
  },
});

/** The slug of the address may be another one now. */
const basedOn = (visit: Visit, json: string) =>
  visit.base && { ...visit, base: `/o/${(JSON.parse(json).data as Organization).slug}` };

export const generalPages = [
  general,
  adminAction(endpointOf(organizations, "patch", "/organizations/:id"), {
    area,
    formPage: general,
    params: { id: "organization_id" },
    doneMessage: "saved",
    redirectTo: ({ json }, { visit }) => adminPath(basedOn(visit, json) || visit, path),
  }),
];
