import { captchaHead, captchaToken } from "../components/captcha.tsx";
import { form, page, seeOther } from "../page.tsx";
import { ownPath, type Visit } from "../visit.ts";
import {
  AddressForm,
  address,
  addressAndCode,
  afterProof,
  BackToSignIn,
  Card,
  codeView,
  mailedUrl,
  returnQuery,
  sendCode,
  verify,
  withReturn,
} from "./account.tsx";

// Sign-in by a mail from auth: a code to enter, or a link (confirm-link.tsx).

export const mailSignIn = page({
  path: "/sign-in/email",
  query: returnQuery,
  call: () => [],
  view: (_results, { visit }) => {
    const { account } = visit.messages;
    return {
      title: account.mailTitle,
      ...captchaHead(),
      content: (
        <Card title={account.mailTitle} text={account.mailText}>
          <AddressForm action="/sign-in/email" />
          <BackToSignIn />
        </Card>
      ),
    };
  },
});

export const mailSignInForm = form({
  path: "/sign-in/email",
  operation: "sign_in_mail",
  body: address,
  formPage: mailSignIn,
  work: async ({ body: { email, return_to }, visit }) => {
    const to = ownPath(return_to) ?? "/";
    return sendCode(visit, email, withReturn("/sign-in/code", to), askForCode(visit, email, to));
  },
});

async function askForCode(visit: Visit, email: string, to: string) {
  const auth = visit.auth({ needsCaptcha: true });
  const options = {
    shouldCreateUser: false,
    emailRedirectTo: mailedUrl(visit, to),
    captchaToken: captchaToken(visit),
  };
  const { error } = await auth.signInWithOtp({ email, options });
  if (error?.code !== "email_provider_disabled" && error?.code !== "otp_disabled") return { error };
  // Auth reports that mail is off only for known addresses, and for an invalid one, to which it sends nothing.
  const { error: always } = await auth.signInWithOtp({ email: "nobody" });
  return { error: always?.code === "email_provider_disabled" ? always : null };
}

export const signInCode = page({
  path: "/sign-in/code",
  query: returnQuery,
  call: () => [],
  view: (_results, { visit }) => codeView("/sign-in/code", "/sign-in/email", visit),
});

export const signInCodeForm = form({
  path: "/sign-in/code",
  operation: "sign_in",
  body: addressAndCode,
  formPage: signInCode,
  work: async ({ body, visit }, _execute, _request, executeAs) => {
    const to = ownPath(body.return_to) ?? "/";
    // The form was sent before: the code is used, and the visitor has the session.
    if (visit.isSignedIn && (await visit.auth().getUser()).data.user?.email === body.email.toLowerCase())
      return seeOther(to);
    const session = await verify(visit, { email: body.email, token: body.code, type: "email" });
    return session ? afterProof(to, session.access_token, executeAs) : seeOther(to);
  },
});
