import type { z } from "zod";
import { logoTypes, maxLogoBytes } from "../../../../shared/logos.ts";
import type { organizationDetailAnswer } from "../../../../shared/organizations.ts";
import { hasStorage, logoFile, storeLogo } from "../../../_shared/files/logos.ts";
import { ApiError } from "../../../_shared/http/api-error.ts";
import { readUpload } from "../../../_shared/http/multipart.ts";
import { adminFrame } from "../../../_shared/statements/admin-frame.ts";
import { organizationDetail } from "../../../_shared/statements/organizations.ts";
import { organizations } from "../../../endpoints/organizations.ts";
import { Dot } from "../../components/dot.tsx";
import { Field, forForm, Problem } from "../../components/field.tsx";
import { Icon } from "../../components/icon.tsx";
import { type BrandMessages, brandMessages } from "../../messages/admin/index.ts";
import { endpointOf, form, seeOther } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import { WordedError } from "../../problems.ts";
import type { Visit } from "../../visit.ts";
import { adminAction, adminPage } from "./admin-page.tsx";

const area = "brand";

const brand = adminPage({
  area,
  words: brandMessages,
  call: () => [organizationDetail()],
  view: ([[found]], { visit, words, admin }) => {
    const { brand_color, logo_url, name } = JSON.parse(found?.data ?? "{}") as z.output<
      typeof organizationDetailAnswer
    >["data"];
    const isUploaded = logo_url?.startsWith("/") ?? false;
    const own = forForm(visit, (typed) => typed.has("brand_color"));
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
          <form method="post" action={adminPath(visit, "/settings/brand")} class="card settings-form">
            <Problem visit={own} />
            <input type="hidden" name="_method" value="patch" />
            <input type="hidden" name="organization_id" value={admin.organization_id} />
            <Field
              name="brand_color"
              label={words.color}
              hint={words.colorHint}
              value={brand_color ?? ""}
              placeholder="#5b5bd6"
              maxlength={7}
              autocomplete="off"
              visit={own}
            />
            {!isUploaded && (
              <Field
                name="logo_url"
                label={words.logo}
                hint={words.logoHint}
                type="url"
                value={logo_url ?? ""}
                placeholder="https://"
                maxlength={2000}
                autocomplete="off"
                visit={own}
              />
            )}
            <div class="buttons">
              <button type="submit" class="button main">
                {words.save}
              </button>
            </div>
          </form>
          {hasStorage() && <UploadForm words={words} visit={visit} />}
          {isUploaded && (
            <details class="card settings-form">
              <summary class="link">{words.remove}</summary>
              <form method="post" action={adminPath(visit, "/settings/brand")} class="stack">
                <input type="hidden" name="_method" value="patch" />
                <input type="hidden" name="organization_id" value={admin.organization_id} />
                <input type="hidden" name="logo_url" value="" />
                <p>{words.removeHint}</p>
                <div class="buttons">
                  <button type="submit" class="button danger">
                    {words.remove}
                  </button>
                </div>
              </form>
            </details>
          )}
        </>
      ),
    };
  },
});

const UploadForm = ({ words, visit }: { words: BrandMessages; visit: Visit }) => {
  const own = forForm(visit, (typed) => !typed.has("brand_color"));
  const problem = own.refused?.details.find(({ field }) => field === "file")?.message;
  return (
    <form
      method="post"
      action={adminPath(visit, "/settings/brand/logo")}
      enctype="multipart/form-data"
      class="card settings-form"
      data-turbo="false"
    >
      <Problem visit={own} />
      <div class="field">
        <label for="file">{words.file}</label>
        <p class="hint" id="file-hint">
          {words.fileHint}
        </p>
        {problem && (
          <p class="problem" id="file-problem">
            {words.file}: {problem}
          </p>
        )}
        <input
          type="file"
          id="file"
          name="file"
          accept={Object.values(logoTypes).join(",")}
          required
          aria-describedby={problem ? "file-hint file-problem" : "file-hint"}
          aria-invalid={problem ? "true" : undefined}
          data-island="file-size"
          data-max={String(maxLogoBytes)}
          data-too-large={words.tooLarge}
        />
      </div>
      <div class="buttons">
        <button type="submit" class="button main">
          <Icon name="upload" />
          {words.upload}
        </button>
      </div>
    </form>
  );
};

const problemOfFile = (message: string) =>
  new WordedError("VALIDATION_ERROR", message, [{ field: "file", message }]);

const uploadLogo = form({
  path: "/admin/settings/brand/logo",
  access: "person",
  ofOrganization: true,
  readsBody: true,
  formPage: brand,
  work: async ({ visit }, execute, request) => {
    const words = brandMessages(visit.locale);
    visit.form = new URLSearchParams();
    // Authorize before reading the body.
    await execute([adminFrame("admin")]);
    try {
      const { file } = await readUpload(request, logoFile);
      if (!file) throw problemOfFile(words.fileMissing);
      await storeLogo(undefined, file.bytes, execute);
      return seeOther(adminPath(visit, "/settings/brand?done=uploaded"));
    } catch (error) {
      if (error instanceof ApiError && error.code === "PAYLOAD_TOO_LARGE")
        throw problemOfFile(words.tooLarge);
      if (error instanceof ApiError && error.code === "VALIDATION_ERROR" && !(error instanceof WordedError))
        throw problemOfFile(words.fileType);
      throw error;
    }
  },
});

export const brandPages = [
  brand,
  uploadLogo,
  adminAction(endpointOf(organizations, "patch", "/organizations/:id"), {
    area,
    formPage: brand,
    params: { id: "organization_id" },
    doneMessage: "saved",
  }),
];
