import { z } from "zod";
import { emailAddress, personName } from "../../../shared/fields.ts";
import { environment } from "../../_shared/runtime/environment.ts";
import { countUnconfirmedRequest } from "../../_shared/statements/accounts.ts";
import { Captcha, captchaHead, captchaToken } from "../components/captcha.tsx";
import { form, page, seeOther } from "../page.tsx";
import { ownPath, type Visit } from "../visit.ts";
import {
  codeIsSent,
  EmailField,
  equalTime,
  isTooSoon,
  mailedUrl,
  NameField,
  NewPasswordField,
  newPassword,
  ReturnField,
  refusedByAuth,
  returnPath,
  returnQuery,
  returnTo,
  withReturn,
} from "./account.tsx";

export const signUp = page({
  path: "/sign-up",
  query: returnQuery,
  call: () => [],
  view: (_results, { visit }) => ({
    title: visit.messages.account.signUpTitle,
    ...captchaHead(),
    content: <SignUp visit={visit} />,
  }),
});

export const signUpForm = form({
  path: "/sign-up",
  operation: "sign_in_mail",
  body: z.object({ name: personName, email: emailAddress, password: newPassword, return_to: returnTo }),
  formPage: signUp,
  work: async ({ body: { name, email, password, return_to }, visit }, execute) => {
    const to = ownPath(return_to) ?? "/";
    const time = equalTime();
    const emailRedirectTo = mailedUrl(visit, to);
    const options = {
      data: { name, locale: visit.locale },
      emailRedirectTo,
      captchaToken: captchaToken(visit),
    };
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
});

// The answer to the CAPTCHA is used up. Auth does not ask for it with a secret key.
const canSendAgain = !environment.captcha || environment.authApiKey !== undefined;

const sendCodeTo = (email: string, emailRedirectTo: string, visit: Visit) =>
  visit.auth().signInWithOtp({ email, options: { shouldCreateUser: false, emailRedirectTo } });

/** Auth could not send the mail or had just sent one, or the form was sent twice at once. */
const isOfAddress = ({ code = "", status }: { code?: string | undefined; status?: number | undefined }) =>
  status === 500 || code === "over_email_send_rate_limit" || code.startsWith("hook_");

const SignUp = ({ visit }: { visit: Visit }) => {
  const { account } = visit.messages;
  return (
    <section class="card narrow">
      <h1>{account.signUpTitle}</h1>
      <form method="post" action="/sign-up" class="stack" data-turbo="false">
        <ReturnField visit={visit} />
        <NameField visit={visit} />
        <EmailField visit={visit} />
        <NewPasswordField visit={visit} label={account.password} />
        <Captcha visit={visit} />
        <button type="submit" class="button main">
          {account.signUpTitle}
        </button>
      </form>
      <p class="quiet">
        {account.hasAccount}{" "}
        <a class="link" href={withReturn("/sign-in", returnPath(visit))}>
          {account.signInTitle}
        </a>
      </p>
    </section>
  );
};
