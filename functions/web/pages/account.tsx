import type { JSX } from "hono/jsx/jsx-runtime";
import { z } from "zod";
import { emailAddress } from "../../../shared/fields.ts";
import { text } from "../../../shared/text.ts";
import { environment } from "../../_shared/environment.ts";
import { Field, Problem } from "../components/field.tsx";
import { WordedError } from "../problems.ts";
import { cookieOptions, secondsToWait } from "../session.ts";
import { ownPath, type Visit } from "../visit.ts";

// Shared by the pages for sign-in, confirmation and password reset.

export const returnTo = z.string().max(2000).optional();
export const returnQuery = z.object({ return_to: returnTo });
export const address = z.object({ email: emailAddress, return_to: returnTo });
export const addressAndCode = address.extend({ code: text({ min: 6, max: 10 }) });
export const newPassword = z.string().min(8).max(72);

export const newPasswordPath = "/reset/password";

/** The next page: `return_to` of the form or of the URL. */
export const returnPath = (visit: Visit) =>
  ownPath(visit.refused?.typed.get("return_to") ?? visit.query.get("return_to")) ?? "/";

export const withReturn = (path: string, to: string) =>
  to === "/" ? path : `${path}?return_to=${encodeURIComponent(to)}`;

/** The page a mail or provider leads back to. */
export const callbackUrl = (to: string) => `${environment.siteUrl}${withReturn("/auth/callback", to)}`;

type AuthProblem = { code?: string | undefined; status?: number | undefined; message: string };

/** An error of auth in the visitor's language. At sign-in it does not reveal whether an address has an account. */
export function refusedByAuth(
  { code, status, message }: AuthProblem,
  { messages: { account } }: Visit,
): WordedError {
  if (status === 429) {
    const seconds = secondsToWait(message);
    return new WordedError("RATE_LIMIT_EXCEEDED", account.tooOften(seconds), [], { retry_after: seconds });
  }
  const refused = (said: string) => new WordedError("CONFLICT", said);
  if (code === "invalid_credentials") return refused(account.wrong);
  if (code === "email_not_confirmed") return refused(account.confirmFirst);
  if (code === "user_already_exists" || code === "email_exists") return refused(account.taken);
  if (code === "otp_expired" || code === "bad_code_verifier" || code === "flow_state_not_found")
    return refused(account.expired);
  if (code === "weak_password" || code === "same_password")
    return new WordedError("VALIDATION_ERROR", account.weak, [{ field: "password", message: account.weak }]);
  return refused(account.away);
}

const addressCookie = "address";

/** The address that a code was sent to, for the form that asks for the code: not in an address bar or log. */
export const rememberAddress = ({ session }: Visit, email: string) =>
  session.cookies.push({ name: addressCookie, value: email, options: { ...cookieOptions, maxAge: 3600 } });

export const ReturnField = ({ visit }: { visit: Visit }) => (
  <>
    <Problem visit={visit} />
    <input type="hidden" name="return_to" value={returnPath(visit)} />
  </>
);

export const EmailField = ({ visit, remembered }: { visit: Visit; remembered?: boolean }) => (
  <Field
    name="email"
    label={visit.messages.account.email}
    type="email"
    autocomplete="username"
    value={remembered ? visit.cookie(addressCookie) : undefined}
    required
    visit={visit}
  />
);

export const NewPasswordField = ({ visit, label }: { visit: Visit; label: string }) => (
  <Field
    name="password"
    label={label}
    hint={visit.messages.account.passwordHint}
    type="password"
    autocomplete="new-password"
    required
    minlength={8}
    maxlength={72}
    visit={visit}
  />
);

type Verification = Parameters<ReturnType<Visit["auth"]>["verifyOtp"]>[0];

/** Signs in with a code or with the token of a link. */
export async function verify(visit: Visit, verification: Verification): Promise<void> {
  const { error } = await visit.auth().verifyOtp(verification);
  if (error) throw refusedByAuth(error, visit);
}

/** The only card of such a page. */
export const Card = ({
  title,
  text: said,
  children,
}: {
  title: string;
  text?: string;
  children?: JSX.Element | JSX.Element[];
}) => (
  <section class="card narrow">
    <h1>{title}</h1>
    {said && <p class="quiet">{said}</p>}
    {children}
  </section>
);

/** Asks where a code shall be sent. */
export const AddressForm = ({ action, visit }: { action: string; visit: Visit }) => (
  <form method="post" action={action} class="stack" data-turbo="false">
    <ReturnField visit={visit} />
    <EmailField visit={visit} />
    <button type="submit" class="button main">
      {visit.messages.account.sendCode}
    </button>
  </form>
);

/** Asks for the code that was sent. */
export const codeView = (action: string, ask: string, visit: Visit) => {
  const { account } = visit.messages;
  return {
    title: account.codeTitle,
    content: (
      <Card title={account.codeTitle} text={account.codeText}>
        <form method="post" action={action} class="stack" data-turbo="false">
          <ReturnField visit={visit} />
          <EmailField visit={visit} remembered />
          <Field name="code" label={account.code} autocomplete="one-time-code" required visit={visit} />
          <button type="submit" class="button main">
            {account.next}
          </button>
        </form>
        <p>
          <a class="link" href={withReturn(ask, returnPath(visit))}>
            {account.newCode}
          </a>
        </p>
      </Card>
    ),
  };
};

export const BackToSignIn = ({ visit }: { visit: Visit }) => (
  <p>
    <a class="link" href={withReturn("/sign-in", returnPath(visit))}>
      {visit.messages.account.signInTitle}
    </a>
  </p>
);
