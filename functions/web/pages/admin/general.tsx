import { locales } from "../../../../shared/locales.ts";
import { maxTrustAfter } from "../../../../shared/organizations.ts";
import { organizationDetail } from "../../../_shared/statements/organizations.ts";
import { organizations } from "../../../endpoints/organizations.ts";
import { Field } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { endpointOf } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import { adminPage } from "./admin-page.tsx";

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
  area: "general",
  read: () => [organizationDetail()],
  view: ([organization], { words }) => ({
    title: words.title,
    content: (
      <Form values={organization} submit={words.save}>
        <h2>{words.board}</h2>
        <Field name="name" label={words.name} autocomplete="off" />
        <Field name="slug" label={words.slug} hint={words.slugHint} autocomplete="off" />
        <Field name="visibility" label={words.visibility} hint={words.visibilityHint} options={words.visibilities} />
        <Field name="allow_indexing" label={words.indexing} hint={words.indexingHint} />
        <Field name="default_locale" label={words.language} hint={words.languageHint} options={languages} />
        <Field
          name="time_zone"
          label={words.timeZone}
          hint={words.timeZoneHint}
          options={timeZones(organization.time_zone)}
        />
        <h2>{words.participation}</h2>
        <Field name="anonymous_may" label={words.anonymous} hint={words.anonymousHint} options={words.rights} />
        <Field name="require_approval" label={words.approval} hint={words.approvalHint} />
        <Field
          name="trust_after"
          label={words.trustAfter}
          hint={words.trustAfterHint(maxTrustAfter)}
          autocomplete="off"
        />
      </Form>
    ),
  }),
  actions: [
    {
      of: endpointOf(organizations, "patch", "/organizations/:id"),
      done: "saved",
      // The slug of the address may be another one now.
      next: ({ json }, { visit }) =>
        adminPath({ ...visit, base: visit.base && `/o/${JSON.parse(json).data.slug}` }, "/settings/general"),
    },
  ],
});

export const generalPages = [general];
