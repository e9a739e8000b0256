import type { PropsWithChildren } from "hono/jsx";
import { notFound } from "../../../../_shared/http/api-error.ts";
import { organizationDetail } from "../../../../_shared/statements/organizations.ts";
import { parsed } from "../../../../_shared/statements/shapes.ts";
import { surveys } from "../../../../endpoints/surveys.ts";
import { CopyButton } from "../../../components/admin/copy-button.tsx";
import { Button } from "../../../components/button.tsx";
import { Problem } from "../../../components/field.tsx";
import { Form } from "../../../components/form.tsx";
import { Icon } from "../../../components/icon.tsx";
import { QrCode } from "../../../components/qr-code.tsx";
import { endpointOf, plain } from "../../../page.tsx";
import { adminPath } from "../../../paths.ts";
import { adminPage } from "../admin-page.tsx";
import { areas } from "../areas.ts";
import { ofSurvey, readSurvey, SurveyViews, surveyPath, trailOf } from "./shared.tsx";

type PartProps = PropsWithChildren<{ name: string; title: string; hint?: string }>;

const Part = ({ name, title, hint, children }: PartProps) => (
  <section class="card stack" aria-labelledby={`${name}-title`}>
    <h2 id={`${name}-title`}>{title}</h2>
    {hint && <p class="quiet">{hint}</p>}
    {children}
  </section>
);

export const shareSurvey = adminPage({
  ...ofSurvey("/share"),
  read: ({ params: { id } }) => [...readSurvey(id, ["targeting"]), organizationDetail()],
  view: ([, survey, { mail_enabled }], { visit, words }) => {
    const embed = `<iframe src="${survey.url.replace("/surveys/", "/embed/surveys/")}" width="100%" height="640"></iframe>`;
    return {
      title: words.views.share,
      trail: trailOf(visit, survey),
      content: (
        <>
          <SurveyViews current="share" />
          {survey.status === "draft" && <p class="notice">{words.shareDraft}</p>}
          <div class="share">
            <div class="stack">
              <Part name="link" title={words.link} hint={words.linkHint}>
                <div class="copy-row">
                  <code class="code" id="survey-link">
                    {survey.url}
                  </code>
                  <CopyButton id="copy-link" text={survey.url} what={words.link} />
                </div>
                <p>
                  <a class="link with-icon" href={survey.url}>
                    {words.openSurvey}
                    <Icon name="external-link" />
                  </a>
                </p>
              </Part>
              <Part name="mail" title={words.mailTitle}>
                {survey.targeting.audience === "everyone" ? (
                  <p class="quiet">{words.mailAudience}</p>
                ) : !mail_enabled ? (
                  <>
                    <p class="quiet">{words.mailOff}</p>
                    <p>
                      <a class="link" href={adminPath(visit, areas.mail.path)}>
                        {words.mailSettings}
                      </a>
                    </p>
                  </>
                ) : (
                  <>
                    <p class="quiet">{words.mailHint}</p>
                    <Problem />
                    <div class="buttons">
                      {[false, true].map((isReminder) => (
                        <Form isOnce hasProblem={false} hidden={{ reminder: String(isReminder) }}>
                          <Button
                            disabled={survey.status !== "published"}
                            label={isReminder ? words.mailReminder : words.mailNow}
                          />
                        </Form>
                      ))}
                    </div>
                  </>
                )}
              </Part>
              <Part name="embed" title={words.embed} hint={words.embedHint}>
                <div class="copy-row">
                  <code class="code">{embed}</code>
                  <CopyButton id="copy-embed" text={embed} what={words.embed} />
                </div>
              </Part>
            </div>
            <Part name="qr" title={words.qrCode} hint={words.qrHint}>
              <QrCode id="survey-qr" text={survey.url} label={`${words.qrCode}${words.colon}${survey.url}`} />
              <p>
                <Button
                  icon="download"
                  href={surveyPath(visit, survey.id, "/qr.svg")}
                  download=""
                  label={words.downloadQr}
                />
              </p>
            </Part>
          </div>
        </>
      ),
    };
  },
  actions: [
    { of: endpointOf(surveys, "post", "/surveys/:id/mail"), path: "/:id/mail", done: "mailed", next: "/:id/share" },
  ],
});

/** The QR code as a file. */
export const surveyQr = plain({
  method: "get",
  path: "/admin/surveys/:id/qr.svg",
  isData: true,
  access: "person",
  ofOrganization: true,
  call: ({ params: { id } }) => readSurvey(id),
  respond: ([, [detail]]) => {
    if (!detail) throw notFound("survey");
    const { id, url } = parsed(detail.data);
    return {
      status: 200,
      json: String(<QrCode text={url} label={url} />),
      headers: {
        "Content-Type": "image/svg+xml; charset=utf-8",
        "Content-Disposition": `attachment; filename="survey-${id}.svg"`,
      },
    };
  },
});
