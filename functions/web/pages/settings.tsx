import { z } from "zod";
import { personName, webAddress } from "../../../shared/fields.ts";
import { changeMe, eraseMe, myPersonalData, myProfile } from "../../_shared/statements/people.ts";
import { Field } from "../components/field.tsx";
import { Form } from "../components/form.tsx";
import { LanguageAndTheme } from "../components/language-and-theme.tsx";
import { page, plain, seeOther } from "../page.tsx";
import { Card, NameField } from "./account.tsx";

const settings = page({
  path: "/settings",
  access: "person",
  query: z.object({ saved: z.literal("true").optional() }),
  read: () => [myProfile()],
  view: ([mine], { query, visit }) => {
    const { settings } = visit.messages;
    const isIdentified = visit.session.credential.kind === "session";
    return {
      title: settings.title,
      content: (
        <div class="single settings">
          <h1>{settings.title}</h1>
          {query.saved && !visit.refused && (
            <p class="notice" role="status">
              {settings.saved}
            </p>
          )}
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
                <Field
                  name="avatar_url"
                  label={settings.picture}
                  hint={settings.pictureHint}
                  autocomplete="photo"
                />
              </Form>
            )}
          </section>
          <section class="card">
            <h2>{settings.display}</h2>
            <p class="quiet">{settings.displayText}</p>
            <LanguageAndTheme returnTo="/settings" />
          </section>
          <section class="card">
            <h2>{visit.messages.mail.title}</h2>
            <a class="button" href={`${visit.base}/settings/mail`}>
              {visit.messages.mail.choose}
            </a>
          </section>
          {mine.email && !isIdentified && (
            <>
              <section class="card">
                <h2>{settings.password}</h2>
                <p class="quiet">{mine.email}</p>
                <a class="button" href="/reset/password?return_to=/settings%3Fsaved%3Dtrue">
                  {settings.changePassword}
                </a>
              </section>
              <section class="card">
                <h2>{settings.factors}</h2>
                <p class="quiet">{settings.factorsText}</p>
                <a class="button" href="/settings/factor">
                  {settings.factorsOpen}
                </a>
              </section>
            </>
          )}
          <section class="card">
            <h2>{settings.data}</h2>
            <p class="quiet">{settings.dataText}</p>
            <a class="button" href="/settings/data.json" download="feedback-data.json" data-turbo="false">
              {settings.download}
            </a>
          </section>
          <section class="card">
            <h2>{settings.erase}</h2>
            <p class="quiet">{settings.eraseText}</p>
            <a class="button danger" href="/settings/erase">
              {settings.erase}
            </a>
          </section>
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
          <p>
            <a class="link" href="/settings">
              {settings.title}
            </a>
          </p>
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
          <a class="button" href="/">
            {me.toBoard}
          </a>
        </Card>
      ),
    };
  },
});

export const settingsPages = [settings, myData, erase, goodbye];
