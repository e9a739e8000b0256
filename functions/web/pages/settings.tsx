import { z } from "zod";
import { personName, webAddress } from "../../../shared/fields.ts";
import { changeMe, eraseMe, myPersonalData, myProfile } from "../../_shared/statements/people.ts";
import { Button } from "../components/button.tsx";
import { Done } from "../components/done.tsx";
import { Field } from "../components/field.tsx";
import { Form } from "../components/form.tsx";
import { LanguageAndTheme } from "../components/language-and-theme.tsx";
import { LinkLine } from "../components/link-line.tsx";
import { page, plain, seeOther } from "../page.tsx";
import { Card, NameField } from "./account.tsx";

const settings = page({
  path: "/settings",
  access: "person",
  query: z.object({ saved: z.literal("true").optional() }),
  read: () => [myProfile()],
  view: ([mine], { query, visit }) => {
    const { settings, mail } = visit.messages;
    const isIdentified = visit.session.credential.kind === "session";
    return {
      title: settings.title,
      content: (
        <div class="single settings">
          <h1>{settings.title}</h1>
          {query.saved && <Done>{settings.saved}</Done>}
          <section class="card">
            <h2>{settings.profile}</h2>
            {isIdentified ? (
              <>
                <p>
                  {mine.name} <span class="quiet">{mine.email}</span>
                </p>
                <p class="quiet">{settings.ofApplication}</p>
              </>
            ) : (
              <Form class="stack" id="profile" values={mine} submit={settings.save}>
                <NameField />
                <Field name="avatar_url" label={settings.picture} hint={settings.pictureHint} autocomplete="photo" />
              </Form>
            )}
          </section>
          <section class="card">
            <h2>{settings.display}</h2>
            <p class="quiet">{settings.displayText}</p>
            <LanguageAndTheme returnTo="/settings" />
          </section>
          <Section title={mail.title} href={`${visit.base}/settings/mail`} label={mail.choose} />
          {mine.email && !isIdentified && (
            <>
              <Section
                title={settings.password}
                text={mine.email}
                href="/reset/password?return_to=/settings%3Fsaved%3Dtrue"
                label={settings.changePassword}
              />
              <Section
                title={settings.factors}
                text={settings.factorsText}
                href="/settings/factor"
                label={settings.factorsOpen}
              />
            </>
          )}
          <Section
            title={settings.data}
            text={settings.dataText}
            href="/settings/data.json"
            label={settings.download}
            download="feedback-data.json"
          />
          <Section
            title={settings.erase}
            text={settings.eraseText}
            href="/settings/erase"
            label={settings.erase}
            isDanger
          />
        </div>
      ),
    };
  },
  actions: [
    plain({
      method: "post",
      path: "/settings",
      access: "person",
      body: z.object({ name: personName, avatar_url: webAddress.nullable() }),
      call: ({ body }) => [changeMe(body)],
      respond: () => seeOther("/settings?saved=true"),
    }),
  ],
});

type SectionProps = {
  title: string;
  text?: string;
  href: string;
  label: string;
  isDanger?: boolean;
  /** Name of the file, if the link downloads one. */
  download?: string;
};

/** A part of the settings that has a page of its own. */
const Section = ({ title, text, href, label, isDanger, download }: SectionProps) => (
  <section class="card">
    <h2>{title}</h2>
    {text && <p class="quiet">{text}</p>}
    <a
      class={isDanger ? "button danger" : "button"}
      href={href}
      download={download}
      data-turbo={download ? "false" : undefined}
    >
      {label}
    </a>
  </section>
);

const myData = plain({
  method: "get",
  path: "/settings/data.json",
  isData: true,
  access: "person",
  runsLong: true,
  call: () => [myPersonalData()],
  respond: ([[mine]]) => ({
    status: 200,
    json: mine?.data ?? "null",
    headers: {
      "Content-Type": "application/json; charset=utf-8",
      "Content-Disposition": 'attachment; filename="feedback-data.json"',
    },
  }),
});

const erase = page({
  path: "/settings/erase",
  access: "person",
  view: (_none, { visit }) => {
    const { settings } = visit.messages;
    const problem = visit.refused?.details.find(({ field }) => field === "confirm");
    return {
      title: settings.erase,
      content: (
        <Card title={settings.erase} text={settings.eraseText}>
          <Form class="stack" hasTurbo={false} submit={settings.eraseNow} isDanger>
            <label class="check">
              <input
                type="checkbox"
                name="confirm"
                value="erase"
                required
                aria-invalid={problem ? "true" : undefined}
              />
              {settings.eraseConfirm}
            </label>
          </Form>
          <LinkLine href="/settings">{settings.title}</LinkLine>
        </Card>
      ),
    };
  },
  actions: [
    plain({
      method: "post",
      path: "/settings/erase",
      access: "person",
      runsLong: true,
      body: z.object({ confirm: z.literal("erase") }),
      call: () => [eraseMe()],
      respond: (_results, { visit }) => {
        visit.forget();
        return seeOther("/goodbye");
      },
    }),
  ],
});

const goodbye = page({
  path: "/goodbye",
  view: (_none, { visit }) => {
    const { settings, me } = visit.messages;
    return {
      title: settings.goneTitle,
      content: (
        <Card title={settings.goneTitle} text={settings.goneText}>
          <Button href="/" label={me.toBoard} />
        </Card>
      ),
    };
  },
});

export const settingsPages = [settings, myData, erase, goodbye];
