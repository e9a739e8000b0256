import { form, page, seeOther } from "../page.tsx";
import { ownPath } from "../visit.ts";
import {
  AddressForm,
  address,
  addressAndCode,
  BackToSignIn,
  Card,
  callbackUrl,
  codeView,
  refusedByAuth,
  rememberAddress,
  returnQuery,
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
      content: (
        <Card title={account.mailTitle} text={account.mailText}>
          <AddressForm action="/sign-in/email" visit={visit} />
          <BackToSignIn visit={visit} />
        </Card>
      ),
    };
  },
});

export const mailSignInForm = form({
  path: "/sign-in/email",
  body: address,
  formPage: mailSignIn,
  work: async ({ body: { email, return_to }, visit }) => {
    const to = ownPath(return_to) ?? "/";
    const { error } = await visit
      .auth()
      .signInWithOtp({ email, options: { shouldCreateUser: false, emailRedirectTo: callbackUrl(to) } });
    // Does not reveal whether the address has an account.
    if (error && error.code !== "otp_disabled" && error.code !== "user_not_found")
      throw refusedByAuth(error, visit);
    rememberAddress(visit, email);
    return seeOther(withReturn("/sign-in/code", to));
  },
});

export const signInCode = page({
  path: "/sign-in/code",
  query: returnQuery,
  call: () => [],
  view: (_results, { visit }) => codeView("/sign-in/code", "/sign-in/email", visit),
});

export const signInCodeForm = form({
  path: "/sign-in/code",
  body: addressAndCode,
  formPage: signInCode,
  work: async ({ body, visit }) => {
    await verify(visit, { email: body.email, token: body.code, type: "email" });
    return seeOther(ownPath(body.return_to) ?? "/");
  },
});
