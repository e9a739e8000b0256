import { logoTypes, maxLogoBytes } from "../../../../shared/logos.ts";
import { hasStorage, logoFile, storeLogo } from "../../../_shared/files/logos.ts";
import { ApiError } from "../../../_shared/http/api-error.ts";
import { readUpload } from "../../../_shared/http/multipart.ts";
import { adminFrame } from "../../../_shared/statements/admin-frame.ts";
import { organizationDetail } from "../../../_shared/statements/organizations.ts";
import { organizations } from "../../../endpoints/organizations.ts";
import { Button } from "../../components/button.tsx";
import { Dot } from "../../components/dot.tsx";
import { Field } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { Icon } from "../../components/icon.tsx";
import { endpointOf, form, seeOther } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import { WordedError } from "../../problems.ts";
import { adminPage } from "./admin-page.tsx";

const change = endpointOf(organizations, "patch", "/organizations/:id");

const problemOfFile = (message: string) => new WordedError("VALIDATION_ERROR", message, [{ field: "file", message }]);

const uploadLogo = form({
  path: "/admin/settings/brand/logo",
  access: "person",
  readsBody: true,
  work: async ({ visit }, execute, request) => {
    const words = visit.messages.admin.brand;
    visit.form = new URLSearchParams();
    // Authorize before reading the body.
    await execute([adminFrame("admin")]);
    try {
      const { file } = await readUpload(request, logoFile);
      if (!file) throw problemOfFile(words.fileMissing);
      await storeLogo(undefined, file.bytes, execute);
      return seeOther(adminPath(visit, "/settings/brand?done=uploaded"));
    } catch (error) {
      if (error instanceof ApiError && error.code === "PAYLOAD_TOO_LARGE") throw problemOfFile(words.tooLarge);
      if (error instanceof ApiError && error.code === "VALIDATION_ERROR" && !(error instanceof WordedError))
        throw problemOfFile(words.fileType);
      throw error;
    }
  },
});

const brand = adminPage({
  area: "brand",
  read: () => [organizationDetail()],
  view: ([organization], { words }) => {
    const { brand_color, logo_url, name } = organization;
    const isUploaded = logo_url?.startsWith("/") ?? false;
    return {
      title: words.title,
      content: (
        <>
          <p class="quiet lead">{words.text}</p>
          <section class="card brand-now" aria-label={words.now}>
            {logo_url ? (
              <img class="brand-logo" src={logo_url} alt={words.logoOf(name)} height="48" />
            ) : (
              <span class="quiet">{words.noLogo}</span>
            )}
            <span class="with-icon">
              {brand_color && <Dot color={brand_color} />}
              {brand_color ?? words.noColor}
            </span>
            <span class="button main">{words.sample}</span>
          </section>
          <Form of={change} values={organization} submit={words.save}>
            <Field
              name="brand_color"
              label={words.color}
              hint={words.colorHint}
              placeholder="#5b5bd6"
              autocomplete="off"
            />
            {!isUploaded && (
              <Field
                name="logo_url"
                label={words.logo}
                hint={words.logoHint}
                placeholder="https://"
                autocomplete="off"
              />
            )}
          </Form>
          {hasStorage() && (
            <Form
              of={uploadLogo}
              hasFile
              submit={
                <>
                  <Icon name="upload" />
                  {words.upload}
                </>
              }
            >
              <Field
                name="file"
                label={words.file}
                hint={words.fileHint(maxLogoBytes / 1024)}
                file={{ types: Object.values(logoTypes), maxBytes: maxLogoBytes, tooLarge: words.tooLarge }}
              />
            </Form>
          )}
          {isUploaded && (
            <details class="card settings-form">
              <summary class="link">{words.remove}</summary>
              <Form of={change} class="stack" hidden={{ logo_url: "" }} hasProblem={false}>
                <p>{words.removeHint}</p>
                <div class="buttons">
                  <Button kind="danger" label={words.remove} />
                </div>
              </Form>
            </details>
          )}
        </>
      ),
    };
  },
  actions: [{ of: change, done: "saved" }, uploadLogo],
});

export const brandPages = [brand];
