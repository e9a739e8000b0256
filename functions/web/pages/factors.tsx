import { z } from "zod";
import { uuid } from "../../../shared/fields.ts";
import { text } from "../../../shared/text.ts";
import { mySecondFactors } from "../../_shared/statements/people.ts";
import { Day } from "../components/day.tsx";
import { Field, Problem } from "../components/field.tsx";
import { QrCode } from "../components/qr-code.tsx";
import { form, page, seeOther } from "../page.tsx";
import { factorPath } from "../paths.ts";
import { WordedError } from "../problems.ts";
import { useVisit } from "../rendering.ts";
import { ownPath, type Visit } from "../visit.ts";
import {
  Card,
  ReturnField,
  refusedByAuth,
  returnQuery,
  returnTo,
  typedCode,
  withReturn,
} from "./account.tsx";

// The second factor: asked for after a sign-in (serve-page.ts leads here), and managed in the settings.

const settingsPath = "/settings/factor";
const codePath = `${settingsPath}/code`;

type FactorProblem = Parameters<typeof refusedByAuth>[0];

/** Leads a session that has not passed the factor to its page; otherwise throws what happened, in words. */
function refuse(error: FactorProblem, visit: Visit) {
  if (error.code === "insufficient_aal") return seeOther(withReturn(factorPath, settingsPath));
  const { account, settings } = visit.messages;
  const said = new Map([
    ["mfa_verification_failed", account.factorWrong],
    ["mfa_challenge_expired", account.factorWrong],
    ["mfa_ip_address_mismatch", account.factorWrong],
    ["mfa_factor_not_found", account.factorWrong],
    ["mfa_factor_name_conflict", settings.factorTaken],
    ["too_many_enrolled_mfa_factors", settings.factorTooMany],
    ["mfa_totp_enroll_not_enabled", settings.factorOff],
  ]).get(error.code ?? "");
  // An auth without second factors has no such address.
  const words = said ?? (error.status === 404 ? settings.factorOff : undefined);
  throw words === undefined ? refusedByAuth(error, visit) : new WordedError("CONFLICT", words);
}

const CodeField = () => {
  const visit = useVisit();
  return (
    <Field
      name="code"
      label={visit.messages.account.factorCode}
      autocomplete="one-time-code"
      inputmode="numeric"
      required
    />
  );
};

// After a sign-in ------------------------------------------------------------------------------------------------

const factor = page({
  path: factorPath,
  query: returnQuery,
  isAnonymous: true,
  call: () => [],
  view: (_results, { visit }) => {
    const { account, nav } = visit.messages;
    return {
      title: account.factorTitle,
      content: (
        <Card title={account.factorTitle} text={account.factorText}>
          <form method="post" action={factorPath} class="stack" data-turbo="false">
            <ReturnField />
            <CodeField />
            <button type="submit" class="button main">
              {account.next}
            </button>
          </form>
          <p class="quiet">{account.factorLost}</p>
          <form method="post" action="/sign-out" data-turbo="false">
            <button type="submit" class="button">
              {nav.signOut}
            </button>
          </form>
        </Card>
      ),
    };
  },
});

const factorForm = form({
  path: factorPath,
  operation: "sign_in",
  body: z.object({ code: typedCode, return_to: returnTo }),
  formPage: factor,
  isBeforeFactor: true,
  work: async ({ body, visit }) => {
    const to = ownPath(body.return_to) ?? "/";
    const { mfa } = visit.auth();
    const { data, error } = await mfa.listFactors();
    if (error?.name === "AuthSessionMissingError") return seeOther(withReturn("/sign-in", to));
    if (error) return refuse(error, visit);
    if (!data.all.some(({ status }) => status === "verified")) return seeOther(to);
    let problem: FactorProblem | undefined;
    // The code says by itself of which app it is.
    for (const { id } of data.totp) {
      const verified = await mfa.challengeAndVerify({ factorId: id, code: body.code });
      if (!verified.error) return seeOther(to);
      problem = verified.error;
      if (problem.code !== "mfa_verification_failed") break;
    }
    if (problem) return refuse(problem, visit);
    throw new WordedError("CONFLICT", visit.messages.account.factorOther);
  },
});

// In the settings ------------------------------------------------------------------------------------------------

const factors = page({
  path: settingsPath,
  access: "person",
  query: z.object({ done: z.enum(["added", "removed"]).optional() }),
  call: () => [mySecondFactors()],
  view: ([[mine]], { visit, query: { done } }) => {
    const { settings, account } = visit.messages;
    return {
      title: settings.factors,
      content: (
        <div class="single settings">
          <h1>{settings.factors}</h1>
          {done && !visit.refused && (
            <p class="notice" role="status">
              {done === "added" ? settings.factorAdded : settings.factorRemoved}
            </p>
          )}
          <Problem />
          {mine?.data.map(({ id, name, created_at }) => (
            <section class="card">
              <h2>{name || settings.factorDefault}</h2>
              <p class="quiet">
                <Day at={created_at} locale={visit.locale} />
              </p>
              <form method="post" action={`${settingsPath}/remove`}>
                <input type="hidden" name="factor_id" value={id} />
                <button
                  type="submit"
                  class="button danger"
                  aria-label={`${settings.factorRemove}: ${name || settings.factorDefault}`}
                >
                  {settings.factorRemove}
                </button>
              </form>
            </section>
          ))}
          <section class="card">
            <h2>{settings.factorAdd}</h2>
            <p class="quiet">{settings.factorsText}</p>
            <form method="post" action={settingsPath} class="stack" data-turbo="false">
              <Field
                name="name"
                label={settings.factorName}
                value={settings.factorDefault}
                autocomplete="off"
                required
                maxlength={50}
              />
              <button type="submit" class="button main">
                {account.next}
              </button>
            </form>
          </section>
        </div>
      ),
    };
  },
});

/** What the app needs, shown once: the address has the key. */
const enrolled = z.object({
  factor_id: uuid,
  uri: z.string().max(2000).startsWith("otpauth://totp/").refine(URL.canParse),
});

/** Shows the key of a new factor, and asks for its first code. */
const enrolment = page({
  path: codePath,
  access: "person",
  call: () => [],
  view: (_results, { visit }) => {
    const { settings, account } = visit.messages;
    const made = enrolled.safeParse(
      visit.refused ? Object.fromEntries(visit.refused.typed) : JSON.parse(visit.answered ?? "null"),
    ).data;
    return {
      title: settings.factorAdd,
      content: (
        <Card title={settings.factorAdd} text={made && settings.factorScan}>
          {made ? (
            <form method="post" action={codePath} class="stack" data-turbo="false">
              <Problem />
              <QrCode text={made.uri} label={settings.factorQrCode} />
              <p class="quiet">
                {settings.factorKey}{" "}
                <code class="factor-key">
                  {new URL(made.uri).searchParams.get("secret")?.replace(/(.{4})(?=.)/g, "$1 ")}
                </code>
              </p>
              <input type="hidden" name="factor_id" value={made.factor_id} />
              <input type="hidden" name="uri" value={made.uri} />
              <CodeField />
              <button type="submit" class="button main">
                {account.next}
              </button>
            </form>
          ) : (
            <p>{settings.factorGone}</p>
          )}
          <p>
            <a class="link" href={settingsPath}>
              {settings.factors}
            </a>
          </p>
        </Card>
      ),
    };
  },
});

const addFactor = form({
  path: settingsPath,
  access: "person",
  body: z.object({ name: text({ min: 1, max: 50 }) }),
  formPage: factors,
  resultPage: enrolment,
  work: async ({ body, visit }) => {
    const { mfa } = visit.auth();
    const listed = await mfa.listFactors();
    if (listed.error) return refuse(listed.error, visit);
    // One that was left before its first code: auth limits their number, and the name would be taken.
    for (const { id, status } of listed.data.all)
      if (status === "unverified") await mfa.unenroll({ factorId: id });
    const { data, error } = await mfa.enroll({ factorType: "totp", friendlyName: body.name });
    if (error) return refuse(error, visit);
    return { status: 200, json: JSON.stringify({ factor_id: data.id, uri: data.totp.uri }) };
  },
});

const confirmFactor = form({
  path: codePath,
  access: "person",
  body: enrolled.extend({ code: typedCode }),
  formPage: enrolment,
  work: async ({ body, visit }) => {
    const { error } = await visit
      .auth()
      .mfa.challengeAndVerify({ factorId: body.factor_id, code: body.code });
    return error ? refuse(error, visit) : seeOther(`${settingsPath}?done=added`);
  },
});

const removeFactor = form({
  path: `${settingsPath}/remove`,
  access: "person",
  body: z.object({ factor_id: uuid }),
  formPage: factors,
  work: async ({ body, visit }) => {
    const { error } = await visit.auth().mfa.unenroll({ factorId: body.factor_id });
    return error && error.code !== "mfa_factor_not_found"
      ? refuse(error, visit)
      : seeOther(`${settingsPath}?done=removed`);
  },
});

export const factorPages = [factor, factorForm, factors, addFactor, enrolment, confirmFactor, removeFactor];
