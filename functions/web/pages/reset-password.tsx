import { z } from "zod";
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
  NewPasswordField,
  newPassword,
  newPasswordPath,
  ReturnField,
  refusedByAuth,
  rememberAddress,
  returnQuery,
  returnTo,
  verify,
  withReturn,
} from "./account.tsx";

// A new password: by a code or link from a mail, or in the settings.

export const reset = page({
  path: "/reset",
  query: returnQuery,
  call: () => [],
  view: (_results, { visit }) => {
    const { account } = visit.messages;
    return {
      title: account.resetTitle,
      content: (
        <Card title={account.resetTitle} text={account.resetText}>
          <AddressForm action="/reset" visit={visit} />
          <BackToSignIn visit={visit} />
        </Card>
      ),
    };
  },
});

export const resetForm = form({
  path: "/reset",
  body: address,
  formPage: reset,
  work: async ({ body: { email, return_to }, visit }) => {
    const to = ownPath(return_to) ?? "/";
    const redirectTo = callbackUrl(withReturn(newPasswordPath, to));
    const { error } = await visit.auth().resetPasswordForEmail(email, { redirectTo });
    if (error) throw refusedByAuth(error, visit);
    rememberAddress(visit, email);
    return seeOther(withReturn("/reset/code", to));
  },
});

export const resetCode = page({
  path: "/reset/code",
  query: returnQuery,
  call: () => [],
  view: (_results, { visit }) => codeView("/reset/code", "/reset", visit),
});

export const resetCodeForm = form({
  path: "/reset/code",
  body: addressAndCode,
  formPage: resetCode,
  work: async ({ body, visit }) => {
    await verify(visit, { email: body.email, token: body.code, type: "recovery" });
    return seeOther(withReturn(newPasswordPath, ownPath(body.return_to) ?? "/"));
  },
});

export const choosePassword = page({
  path: newPasswordPath,
  access: "person",
  query: returnQuery,
  call: () => [],
  view: (_results, { visit }) => {
    const { account, settings } = visit.messages;
    return {
      title: account.newPasswordTitle,
      content: (
        <Card title={account.newPasswordTitle}>
          <form method="post" action={newPasswordPath} class="stack">
            <ReturnField visit={visit} />
            <NewPasswordField visit={visit} label={account.newPassword} />
            <button type="submit" class="button main">
              {settings.save}
            </button>
          </form>
        </Card>
      ),
    };
  },
});

export const choosePasswordForm = form({
  path: newPasswordPath,
  access: "person",
  body: z.object({ password: newPassword, return_to: returnTo }),
  formPage: choosePassword,
  work: async ({ body, visit }) => {
    const auth = visit.auth();
    const { error } = await auth.updateUser({ password: body.password });
    // A project may ask for a recent proof, which a code by mail is.
    if (error?.code === "reauthentication_needed")
      return seeOther(withReturn("/reset", ownPath(body.return_to) ?? "/"));
    if (error) throw refusedByAuth(error, visit);
    // All other sessions end, because the old password may be known to others.
    await auth.signOut({ scope: "others" });
    const to = ownPath(body.return_to) ?? "/";
    // The settings confirm the change; the board would not.
    return seeOther(to === "/" ? "/settings?saved=true" : to);
  },
});
