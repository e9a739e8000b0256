import { z } from "zod";
import { personName } from "../../../shared/fields.ts";
import { changeMe, myProfile } from "../../_shared/statements/people.ts";
import { captchaToken } from "../components/captcha.tsx";
import { Form } from "../components/form.tsx";
import { LinkLine } from "../components/link-line.tsx";
import { form, page, seeOther } from "../page.tsx";
import { factorPath } from "../paths.ts";
import {
  Card,
  codePages,
  firstPassword,
  mailedUrl,
  NameField,
  NewPasswordField,
  newPassword,
  newPasswordPath,
  nextPath,
  refusedByAuth,
  returnPath,
  returnQuery,
  verify,
  withReturn,
} from "./account.tsx";

// A new password: by a code or link from a mail, or in the settings.

const resetPages = codePages({
  path: "/reset",
  codePath: "/reset/code",
  title: "resetTitle",
  text: "resetText",
  send: (visit, email, to) =>
    visit
      .auth({ needsCaptcha: true })
      .resetPasswordForEmail(email, {
        redirectTo: mailedUrl(visit, withReturn(newPasswordPath, to)),
        captchaToken: captchaToken(visit),
      }),
  enter: async ({ email, code, to }, visit) => {
    await verify(visit, { email, token: code, type: "recovery" });
    return seeOther(withReturn(newPasswordPath, to));
  },
});

const choosePassword = page({
  path: newPasswordPath,
  access: "person",
  /** first: the account is new and may stay without a password. */
  query: returnQuery.extend({ first: z.literal("true").optional() }),
  read: () => [myProfile()],
  view: ([{ name }], { visit, query: { first } }) => {
    const { account, settings } = visit.messages;
    const title = first ? account.firstPasswordTitle : account.newPasswordTitle;
    return {
      title,
      content: (
        <Card title={title} text={first && account.firstPasswordText}>
          <Form
            class="stack"
            to={first ? firstPassword("/") : newPasswordPath}
            returnTo={returnPath(visit)}
            submit={settings.save}
          >
            {first && !name && <NameField />}
            <NewPasswordField label={first ? account.password : account.newPassword} />
          </Form>
          {first && <LinkLine href={returnPath(visit)}>{account.notNow}</LinkLine>}
        </Card>
      ),
    };
  },
  actions: [
    form({
      path: newPasswordPath,
      access: "person",
      query: z.object({ first: z.string().optional() }),
      body: z.object({ name: personName.optional(), password: newPassword, return_to: nextPath }),
      work: async ({ body: { name, password, return_to: to }, query, visit }, execute) => {
        if (name) await execute([changeMe({ name })]);
        // Auth ends all other sessions, because the old password may be known to others.
        const { error } = await visit.auth().updateUser({ password });
        if (error?.code === "insufficient_aal")
          return seeOther(withReturn(factorPath, withReturn(newPasswordPath, to)));
        // A project may require a recent sign-in or the old password; a code by mail replaces both.
        if (proofs.has(error?.code ?? "")) return seeOther(withReturn("/reset", to));
        if (error) throw refusedByAuth(error, visit);
        // The settings confirm the change; the board would not.
        return seeOther(to === "/" && !query.first ? "/settings?saved=true" : to);
      },
    }),
  ],
});

const proofs = new Set(["reauthentication_needed", "current_password_required", "current_password_mismatch"]);

export const passwordPages = [...resetPages, choosePassword];
