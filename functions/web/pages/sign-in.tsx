import { z } from "zod";
import { emailAddress } from "../../../shared/fields.ts";
import { environment, providerNames, signInProviders } from "../../_shared/runtime/environment.ts";
import { endSession } from "../../_shared/statements/identify.ts";
import { Button } from "../components/button.tsx";
import { Captcha, captchaHead, captchaToken } from "../components/captcha.tsx";
import { Field } from "../components/field.tsx";
import { form, page, seeOther } from "../page.tsx";
import { useVisit } from "../rendering.ts";
import {
  AccountForm,
  Card,
  callbackUrl,
  EmailField,
  equalTime,
  nextPath,
  refusedByAuth,
  returnPath,
  returnQuery,
  withReturn,
} from "./account.tsx";

const signIn = page({
  path: "/sign-in",
  query: returnQuery,
  view: (_none, { visit }) => ({ title: visit.messages.account.signInTitle, ...captchaHead(), content: <SignIn /> }),
  actions: [
    form({
      path: "/sign-in",
      operation: "sign_in",
      body: z.object({ email: emailAddress, password: z.string().min(1).max(200), return_to: nextPath }),
      work: async ({ body: { email, password, return_to }, visit }) => {
        const time = equalTime();
        const options = { captchaToken: captchaToken(visit) };
        const { error } = await visit.auth({ needsCaptcha: true }).signInWithPassword({ email, password, options });
        if (error) {
          await time;
          // Auth reports a banned account before it checks the password, which would reveal the account.
          const code = error.code === "user_banned" ? "invalid_credentials" : error.code;
          throw refusedByAuth({ ...error, message: error.message, code }, visit);
        }
        return seeOther(return_to);
      },
    }),
  ],
});

/** Redirects to an OAuth provider, which redirects to /auth/callback. */
const signInWithProvider = signInProviders.map((provider) =>
  form({
    method: "get",
    path: `/sign-in/${provider}`,
    query: z.object({ return_to: nextPath }),
    work: async ({ query, visit }) => {
      const redirectTo = callbackUrl(query.return_to);
      const { data, error } = await visit
        .auth()
        .signInWithOAuth({ provider, options: { redirectTo, skipBrowserRedirect: true } });
      if (error) throw refusedByAuth(error, visit);
      // Auth answers with JSON if it cannot redirect to the provider, for example because that is off.
      const asked = await askAuth(data.url);
      const to = asked?.headers.get("Location");
      if (to) return seeOther(to);
      const code = (asked?.status ?? 502) < 500 ? "provider_disabled" : undefined;
      throw refusedByAuth({ code, status: asked?.status ?? 0, message: "" }, visit);
    },
  }),
);

const signOut = form({
  path: "/sign-out",
  isBeforeFactor: true,
  body: z.object({}),
  formPage: signIn,
  work: async ({ visit }, execute) => {
    const { credential } = visit.session;
    if (credential.kind === "session") await execute([endSession(credential.digest)]);
    else await visit.auth().signOut({ scope: "local" });
    // The cookies are deleted even if auth did not respond.
    visit.forget();
    return seeOther("/");
  },
});

async function askAuth(url: string): Promise<Response | undefined> {
  const signal = AbortSignal.timeout(10_000);
  const asked = await fetch(url, { redirect: "manual", signal }).catch(() => undefined);
  await asked?.body?.cancel();
  return asked;
}

const SignIn = () => {
  const visit = useVisit();
  const { account, nav } = visit.messages;
  const to = returnPath(visit);
  return (
    <Card title={account.signInTitle} text={account.signInText}>
      <AccountForm submit={nav.signIn}>
        <EmailField />
        <Field name="password" label={account.password} type="password" autocomplete="current-password" />
        <Captcha />
      </AccountForm>
      <p class="links">
        <a class="link" href={withReturn("/reset", to)}>
          {account.forgot}
        </a>
        <a class="link" href={withReturn("/sign-in/email", to)}>
          {account.byMail}
        </a>
      </p>
      {environment.signInProviders.length > 0 && (
        <div class="stack providers">
          <p class="or">{account.or}</p>
          {environment.signInProviders.map((provider) => (
            <Button
              href={withReturn(`/sign-in/${provider}`, to)}
              data-turbo="false"
              rel="nofollow"
              label={account.continueWith(providerNames[provider])}
            />
          ))}
        </div>
      )}
      <p class="quiet">
        {account.noAccount}{" "}
        <a class="link" href={withReturn("/sign-up", to)}>
          {account.signUpTitle}
        </a>
      </p>
    </Card>
  );
};

export const signInPages = [signIn, ...signInWithProvider, signOut];
