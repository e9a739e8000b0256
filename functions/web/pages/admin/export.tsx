import { z } from "zod";
import { exportQuery } from "../../../../shared/imports.ts";
import { importExport } from "../../../endpoints/import-export.ts";
import { Button } from "../../components/button.tsx";
import { Field } from "../../components/field.tsx";
import { Icon } from "../../components/icon.tsx";
import { action, endpointOf } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import { adminPage } from "./admin-page.tsx";

export const exporting = adminPage({
  area: "export",
  view: (_none, { words, visit }) => ({
    title: words.title,
    content: (
      <section class="card form-card">
        <p>{words.intro}</p>
        <p class="notice with-icon">
          <Icon name="lock" />
          {words.personal}
        </p>
        <form method="get" action={adminPath(visit, "/export/file")} class="stack" id="export" data-turbo="false">
          <Field name="what" label={words.what} options={words.kinds} />
          <Field name="format" label={words.format} hint={words.formatHint} options={words.formats} />
          <div class="buttons">
            <Button kind="main" icon="download" label={words.submit} />
          </div>
        </form>
      </section>
    ),
  }),
});

/** The API's query, but a CSV export of everything contains the submissions only. */
const fileQuery = z.preprocess((sent) => {
  const { what, ...rest } = sent as Record<string, string>;
  return rest.format === "csv" && what === "all" ? rest : sent;
}, exportQuery);

export const exportFile = {
  ...action(endpointOf(importExport, "get", "/admin/export"), { path: "/admin/export/file", ofOrganization: true }),
  query: fileQuery,
};
