import { z } from "zod";
import { emailAddress, personName } from "../../../shared/fields.ts";
import { Field } from "../components/field.tsx";
import { form, page, seeOther } from "../page.tsx";
import { ownPath, type Visit } from "../visit.ts";
import {
  callbackUrl,
  EmailField,
  NewPasswordField,
  newPassword,
  ReturnField,
  refusedByAuth,
  rememberAddress,
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
    content: <SignUp visit={visit} />,
  }),
});

export const signUpForm = form({
  path: "/sign-up",
  body: z.object({ name: personName, email: emailAddress, password: newPassword, return_to: returnTo }),
  formPage: signUp,
  work: async ({ body: { name, email, password, return_to }, visit }) => {
    const to = ownPath(return_to) ?? "/";
    const { data, error } = await visit.auth().signUp({
      email,
      password,
      options: { data: { name, locale: visit.locale }, emailRedirectTo: callbackUrl(to) },
    });
    if (error) throw refusedByAuth(error, visit);
    if (data.session) return seeOther(to);
    rememberAddress(visit, email);
    return seeOther(withReturn("/sign-in/code", to));
  },
});

const SignUp = ({ visit }: { visit: Visit }) => {
  const { account } = visit.messages;
  return (
    <section class="card narrow">
      <h1>{account.signUpTitle}</h1>
      <form method="post" action="/sign-up" class="stack" data-turbo="false">
        <ReturnField visit={visit} />
        <Field
          name="name"
          label={account.name}
          hint={account.nameHint}
          autocomplete="name"
          required
          maxlength={100}
          visit={visit}
        />
        <EmailField visit={visit} />
        <NewPasswordField visit={visit} label={account.password} />
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
