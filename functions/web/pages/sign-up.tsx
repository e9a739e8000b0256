import { z } from "zod";
import { emailAddress, personName } from "../../../shared/fields.ts";
import { environment } from "../../_shared/runtime/environment.ts";
import { countUnconfirmedRequest } from "../../_shared/statements/accounts.ts";
import { Captcha, captchaHead, captchaToken } from "../components/captcha.tsx";
import { form, page, seeOther } from "../page.tsx";
import type { Visit } from "../visit.ts";
import {
  AccountForm,
  Card,
  codeIsSent,
  EmailField,
  equalTime,
  isTooSoon,
  mailedUrl,
  NameField,
  NewPasswordField,
  newPassword,
  nextPath,
  refusedByAuth,
  returnPath,
  returnQuery,
  withReturn,
} from "./account.tsx";

export const signUp = page({
  path: "/sign-up",
  query: returnQuery,
  view: (_none, { visit }) => {
    const { account } = visit.messages;
    return {
      title: account.signUpTitle,
      ...captchaHead(),
      content: (
        <Card title={account.signUpTitle}>
          <AccountForm submit={account.signUpTitle}>
            <NameField />
            <EmailField />
            <NewPasswordField label={account.password} />
            <Captcha />
          </AccountForm>
          <p class="quiet">
            {account.hasAccount}{" "}
            <a class="link" href={withReturn("/sign-in", returnPath(visit))}>
              {account.signInTitle}
            </a>
          </p>
        </Card>
      ),
    };
  },
  actions: [
    form({
      path: "/sign-up",
      operation: "sign_in_mail",
      body: z.object({ name: personName, email: emailAddress, password: newPassword, return_to: nextPath }),
      work: async ({ body: { name, email, password, return_to: to }, visit }, execute) => {
        const time = equalTime();
        const emailRedirectTo = mailedUrl(visit, to);
        const options = { data: { name, locale: visit.locale }, emailRedirectTo, captchaToken: captchaToken(visit) };
        const { data, error } = await visit.auth({ needsCaptcha: true }).signUp({ email, password, options });
        if (data.session) return seeOther(to);
        // The address has an account, and auth sends nothing: the owner may have forgotten it, and gets a code.
        const isKnown = data.user?.identities?.length === 0;
        const again = isKnown && (await sendCodeTo(email, emailRedirectTo, visit)).error;
        await time;
        if (error && !isOfAddress(error)) throw refusedByAuth(error, visit);
        const problem = error ?? (again || null);
        if (problem?.code === "over_email_send_rate_limit" && !isTooSoon(problem) && canSendAgain) {
          await execute([countUnconfirmedRequest(email)]);
          throw refusedByAuth(problem, visit);
        }
        return codeIsSent(visit, email, withReturn("/sign-in/code", to), Promise.resolve({ error: problem }));
      },
    }),
  ],
});

// The CAPTCHA answer has been used. Auth does not require another for calls with the secret key.
const canSendAgain = !environment.captcha || environment.authApiKey !== undefined;

const sendCodeTo = (email: string, emailRedirectTo: string, visit: Visit) =>
  visit.auth().signInWithOtp({ email, options: { shouldCreateUser: false, emailRedirectTo } });

/** Auth could not send the mail or had just sent one, or the form was sent twice at once. */
const isOfAddress = ({ code = "", status }: { code?: string | undefined; status?: number | undefined }) =>
  status === 500 || code === "over_email_send_rate_limit" || code.startsWith("hook_");
