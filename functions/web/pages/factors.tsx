import { z } from "zod";
import { uuid } from "../../../shared/fields.ts";
import { text } from "../../../shared/text.ts";
import { mySecondFactors } from "../../_shared/statements/people.ts";
import { Button } from "../components/button.tsx";
import { Day } from "../components/day.tsx";
import { Done } from "../components/done.tsx";
import { Field, Problem } from "../components/field.tsx";
import { Form } from "../components/form.tsx";
import { LinkLine } from "../components/link-line.tsx";
import { QrCode } from "../components/qr-code.tsx";
import { form, page, seeOther } from "../page.tsx";
import { factorPath } from "../paths.ts";
import { WordedError } from "../problems.ts";
import { useVisit } from "../rendering.ts";
import type { Visit } from "../visit.ts";
import { AccountForm, Card, nextPath, refusedByAuth, returnQuery, typedCode, withReturn } from "./account.tsx";

// The second factor: asked for after a sign-in (serve-page.ts leads here), and managed in the settings.

const settingsPath = "/settings/factor";
const codePath = `${settingsPath}/code`;

type FactorProblem = Parameters<typeof refusedByAuth>[0];

/** Leads a session that has not passed the factor to its page; otherwise throws what happened, in words. */
function refuse(error: FactorProblem, visit: Visit) {
  if (error.code === "insufficient_aal") return seeOther(withReturn(factorPath, settingsPath));
  // An auth without second factors has no such address.
  const isOff = error.status === 404 && !error.code?.startsWith("mfa_");
  throw refusedByAuth(isOff ? { code: "mfa_totp_enroll_not_enabled", message: "" } : error, visit);
}

const CodeField = () => (
  <Field name="code" label={useVisit().messages.account.factorCode} autocomplete="one-time-code" inputmode="numeric" />
);

// After a sign-in ------------------------------------------------------------------------------------------------

const factor = page({
  path: factorPath,
  query: returnQuery,
  isAnonymous: true,
  view: (_none, { visit }) => {
    const { account, nav } = visit.messages;
    return {
      title: account.factorTitle,
      content: (
        <Card title={account.factorTitle} text={account.factorText}>
          <AccountForm submit={account.next}>
            <CodeField />
          </AccountForm>
          <p class="quiet">{account.factorLost}</p>
          <form method="post" action="/sign-out" data-turbo="false">
            <Button label={nav.signOut} />
          </form>
        </Card>
      ),
    };
  },
  actions: [
    form({
      path: factorPath,
      operation: "sign_in",
      body: z.object({ code: typedCode, return_to: nextPath }),
      isBeforeFactor: true,
      work: async ({ body: { code, return_to: to }, visit }) => {
        const { mfa } = visit.auth();
        const { data, error } = await mfa.listFactors();
        if (error?.name === "AuthSessionMissingError") return seeOther(withReturn("/sign-in", to));
        if (error) return refuse(error, visit);
        if (!data.all.some(({ status }) => status === "verified")) return seeOther(to);
        let problem: FactorProblem | undefined;
        // The form does not say which app generated the code, so each factor is tried.
        for (const { id } of data.totp) {
          const verified = await mfa.challengeAndVerify({ factorId: id, code });
          if (!verified.error) return seeOther(to);
          problem = verified.error;
          if (problem.code !== "mfa_verification_failed") break;
        }
        if (problem) return refuse(problem, visit);
        throw new WordedError("CONFLICT", visit.messages.account.factorOther);
      },
    }),
  ],
});

// In the settings ------------------------------------------------------------------------------------------------

/** What the authenticator app needs. It is shown once, because the URI contains the key. */
const enrolled = z.object({
  factor_id: uuid,
  uri: z.string().max(2000).startsWith("otpauth://totp/").refine(URL.canParse),
});

/** Shows the key of a new factor, and asks for its first code. */
const enrolment = page({
  path: codePath,
  access: "person",
  view: (_none, { visit }) => {
    const { settings, account, words } = visit.messages;
    const made = enrolled.safeParse(
      visit.refused ? Object.fromEntries(visit.refused.typed) : JSON.parse(visit.answered ?? "null"),
    ).data;
    return {
      title: settings.factorAdd,
      content: (
        <Card title={settings.factorAdd} text={made && settings.factorScan}>
          {made ? (
            <Form class="stack" hasTurbo={false} hidden={made} submit={account.next}>
              <QrCode text={made.uri} label={settings.factorQrCode} />
              <p class="quiet">
                {settings.factorKey + words.colon}
                <code class="factor-key">
                  {new URL(made.uri).searchParams.get("secret")?.replace(/(.{4})(?=.)/g, "$1 ")}
                </code>
              </p>
              <CodeField />
            </Form>
          ) : (
            <p>{settings.factorGone}</p>
          )}
          <LinkLine href={settingsPath}>{settings.factors}</LinkLine>
        </Card>
      ),
    };
  },
  actions: [
    form({
      path: codePath,
      access: "person",
      body: enrolled.extend({ code: typedCode }),
      work: async ({ body: { factor_id, code }, visit }) => {
        const { error } = await visit.auth().mfa.challengeAndVerify({ factorId: factor_id, code });
        return error ? refuse(error, visit) : seeOther(`${settingsPath}?done=added`);
      },
    }),
  ],
});

const addFactor = form({
  path: settingsPath,
  access: "person",
  body: z.object({ name: text({ min: 1, max: 50 }) }),
  resultPage: enrolment,
  work: async ({ body, visit }) => {
    const { mfa } = visit.auth();
    const listed = await mfa.listFactors();
    if (listed.error) return refuse(listed.error, visit);
    // Unconfirmed factors are deleted, because auth limits their number and their names would be taken.
    for (const { id, status } of listed.data.all) if (status === "unverified") await mfa.unenroll({ factorId: id });
    const { data, error } = await mfa.enroll({ factorType: "totp", friendlyName: body.name });
    if (error) return refuse(error, visit);
    return { status: 200, json: JSON.stringify({ factor_id: data.id, uri: data.totp.uri }) };
  },
});

const removeFactor = form({
  path: `${settingsPath}/remove`,
  access: "person",
  body: z.object({ factor_id: uuid }),
  work: async ({ body, visit }) => {
    const { error } = await visit.auth().mfa.unenroll({ factorId: body.factor_id });
    return error && error.code !== "mfa_factor_not_found"
      ? refuse(error, visit)
      : seeOther(`${settingsPath}?done=removed`);
  },
});

const factors = page({
  path: settingsPath,
  access: "person",
  query: z.object({ done: z.enum(["added", "removed"]).optional() }),
  read: () => [mySecondFactors()],
  view: ([mine], { visit, query: { done } }) => {
    const { settings, account, words } = visit.messages;
    return {
      title: settings.factors,
      content: (
        <div class="single settings">
          <h1>{settings.factors}</h1>
          {done && <Done>{done === "added" ? settings.factorAdded : settings.factorRemoved}</Done>}
          <Problem />
          {mine.map(({ id, name, created_at }) => (
            <section class="card">
              <h2>{name || settings.factorDefault}</h2>
              <p class="quiet">
                <Day at={created_at} />
              </p>
              <Form of={removeFactor} hidden={{ factor_id: id }} hasProblem={false}>
                <Button
                  kind="danger"
                  aria-label={`${settings.factorRemove}${words.colon}${name || settings.factorDefault}`}
                  label={settings.factorRemove}
                />
              </Form>
            </section>
          ))}
          <section class="card">
            <h2>{settings.factorAdd}</h2>
            <p class="quiet">{settings.factorsText}</p>
            <Form of={addFactor} class="stack" hasTurbo={false} hasProblem={false} submit={account.next}>
              <Field name="name" label={settings.factorName} value={settings.factorDefault} autocomplete="off" />
            </Form>
          </section>
        </div>
      ),
    };
  },
  actions: [addFactor, removeFactor],
});

export const factorPages = [factor, factors, enrolment];
