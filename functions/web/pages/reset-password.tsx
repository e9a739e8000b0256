import { z } from "zod";
import { personName } from "../../../shared/fields.ts";
import { changeMe, myProfile } from "../../_shared/statements/people.ts";
import { captchaHead, captchaToken } from "../components/captcha.tsx";
import { form, page, seeOther } from "../page.tsx";
import { factorPath } from "../paths.ts";
import { ownPath } from "../visit.ts";
import {
  AddressForm,
  address,
  addressAndCode,
  BackToSignIn,
  Card,
  codeView,
  firstPassword,
  mailedUrl,
  NameField,
  NewPasswordField,
  newPassword,
  newPasswordPath,
  ReturnField,
  refusedByAuth,
  returnPath,
  returnQuery,
  returnTo,
  sendCode,
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
      ...captchaHead(),
      content: (
        <Card title={account.resetTitle} text={account.resetText}>
          <AddressForm action="/reset" />
          <BackToSignIn />
        </Card>
      ),
    };
  },
});

export const resetForm = form({
  path: "/reset",
  operation: "sign_in_mail",
  body: address,
  formPage: reset,
  work: async ({ body: { email, return_to }, visit }) => {
    const to = ownPath(return_to) ?? "/";
    const redirectTo = mailedUrl(visit, withReturn(newPasswordPath, to));
    const asked = visit
      .auth({ needsCaptcha: true })
      .resetPasswordForEmail(email, { redirectTo, captchaToken: captchaToken(visit) });
    return sendCode(visit, email, withReturn("/reset/code", to), asked);
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
  operation: "sign_in",
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
  /** first: of a new account, which can do without. */
  query: returnQuery.extend({ first: z.literal("true").optional() }),
  call: () => [myProfile()],
  view: ([[mine]], { visit, query }) => {
    const { account, settings } = visit.messages;
    const title = query.first ? account.firstPasswordTitle : account.newPasswordTitle;
    return {
      title,
      content: (
        <Card title={title} text={query.first ? account.firstPasswordText : undefined}>
          <form method="post" action={query.first ? firstPassword("/") : newPasswordPath} class="stack">
            <ReturnField />
            {query.first && !mine?.data.name && <NameField />}
            <NewPasswordField label={query.first ? account.password : account.newPassword} />
            <button type="submit" class="button main">
              {settings.save}
            </button>
          </form>
          {query.first && (
            <p>
              <a class="link" href={returnPath(visit)}>
                {account.notNow}
              </a>
            </p>
          )}
        </Card>
      ),
    };
  },
});

export const choosePasswordForm = form({
  path: newPasswordPath,
  access: "person",
  query: z.object({ first: z.string().optional() }),
  body: z.object({ name: personName.optional(), password: newPassword, return_to: returnTo }),
  formPage: choosePassword,
  work: async ({ body, query, visit }, execute) => {
    const to = ownPath(body.return_to) ?? "/";
    if (body.name) await execute([changeMe({ name: body.name })]);
    // Auth ends all other sessions, because the old password may be known to others.
    const { error } = await visit.auth().updateUser({ password: body.password });
    if (error?.code === "insufficient_aal")
      return seeOther(withReturn(factorPath, withReturn(newPasswordPath, to)));
    // A project may ask for a recent proof or the old password; a code by mail is enough.
    if (proofs.has(error?.code ?? "")) return seeOther(withReturn("/reset", to));
    if (error) throw refusedByAuth(error, visit);
    // The settings confirm the change; the board would not.
    return seeOther(to === "/" && !query.first ? "/settings?saved=true" : to);
  },
});

const proofs = new Set(["reauthentication_needed", "current_password_required", "current_password_mismatch"]);
