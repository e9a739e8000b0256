import type { Child, PropsWithChildren } from "hono/jsx";
import { z } from "zod";
import { emailAddress } from "../../../shared/fields.ts";
import { text } from "../../../shared/text.ts";
import { credentialOf } from "../../_shared/callers/credential.ts";
import { canSign, signClient } from "../../_shared/callers/mail-links.ts";
import { hostCookie } from "../../_shared/http/cookies.ts";
import type { ExecuteAs, JsonResponse } from "../../_shared/http/endpoint.ts";
import { environment } from "../../_shared/runtime/environment.ts";
import { countUnconfirmedRequest, needsPassword } from "../../_shared/statements/accounts.ts";
import type { Messages } from "../../words/index.ts";
import { Captcha, captchaHead } from "../components/captcha.tsx";
import { Field } from "../components/field.tsx";
import { Form } from "../components/form.tsx";
import { LinkLine } from "../components/link-line.tsx";
import { formatList } from "../format.ts";
import { form, type Page, page, seeOther } from "../page.tsx";
import { withQuery } from "../paths.ts";
import { WordedError } from "../problems.ts";
import { useVisit } from "../rendering.ts";
import { cookieOptions, secondsToWait } from "../session.ts";
import { ownPath, type Visit } from "../visit.ts";

// Shared by the pages for sign-in, confirmation and password reset.

export const returnTo = z.string().max(2000).optional();
export const returnQuery = z.object({ return_to: returnTo });
/** The path to redirect to after a form; that of the board if the form names no page of this site. */
export const nextPath = returnTo.transform((to) => ownPath(to) ?? "/");
const address = z.object({ email: emailAddress, return_to: nextPath });
/** People type a code with spaces or hyphens, and on a Japanese keyboard with full-width digits. */
export const typedCode = z
  .string()
  .max(100)
  .overwrite((typed) => typed.normalize("NFKC").replace(/[\s\p{Pd}]/gu, ""));
const addressAndCode = address.extend({ code: typedCode.pipe(text({ min: 6, max: 10 })) });

const minPassword = 8;
const maxPasswordBytes = 72;
/** bcrypt, which stores it, takes 72 bytes. */
export const newPassword = z
  .string()
  .min(minPassword)
  .refine((typed) => new TextEncoder().encode(typed).length <= maxPasswordBytes, {
    params: { rule: "bytes", max: maxPasswordBytes },
  });

export const newPasswordPath = "/reset/password";

/** The next page: `return_to` of the form or of the URL. */
export const returnPath = (visit: Visit) =>
  ownPath(visit.refused?.typed.get("return_to") ?? visit.query.get("return_to")) ?? "/";

export const withReturn = (path: string, to: string) =>
  to === "/" ? path : `${path}?return_to=${encodeURIComponent(to)}`;

/** The page a provider leads back to. */
export const callbackUrl = (to: string) => `${environment.siteUrl}${withReturn("/auth/callback", to)}`;

/** The page a mail leads back to. It names the client: auth passes it on to auth-mail, which counts the client's mails. */
export function mailedUrl({ client }: Visit, to: string): string {
  const url = new URL(callbackUrl(to));
  if (client && canSign) url.searchParams.set("client", signClient(client, new Date()));
  return url.href;
}

type AuthProblem = {
  code?: string | undefined;
  status?: number | undefined;
  name?: string;
  message: string;
  reasons?: readonly string[];
};

/** Whether auth or a proxy before it fails as a whole. Status 500 is the error of a single call. */
const isAway = ({ name, status }: AuthProblem) =>
  name === "AuthUnknownError" || status === 0 || status === 401 || (status ?? 0) > 500;

/** Another mail to this address was sent within a minute, so that auth sends none. */
export const isTooSoon = ({ code, message }: AuthProblem) =>
  code === "over_email_send_rate_limit" && /\d second/.test(message);

type Account = Messages["account"];
type Word = { [Key in keyof Account]: Account[Key] extends string ? Key : never }[keyof Account];

/** Texts of errors that last until somebody changes something, so that trying again does not help. */
const lastingProblems = ({ account, settings }: Messages): Record<string, string> => ({
  invalid_credentials: account.wrong,
  email_not_confirmed: account.confirmFirst,
  user_already_exists: account.taken,
  email_exists: account.taken,
  otp_expired: account.expired,
  bad_code_verifier: account.expired,
  pkce_code_verifier_not_found: account.expired,
  flow_state_not_found: account.expired,
  flow_state_expired: account.expired,
  user_banned: account.blocked,
  signup_disabled: account.signUpsOff,
  email_provider_disabled: account.wayOff,
  provider_disabled: account.wayOff,
  oauth_provider_not_supported: account.wayOff,
  access_denied: account.cancelled,
  provider_email_needs_verification: account.confirmMailed,
  user_sso_managed: account.ssoManaged,
  captcha_failed: environment.captcha ? account.captcha : account.captchaUnset,
  mfa_verification_failed: account.factorWrong,
  mfa_challenge_expired: account.factorWrong,
  mfa_ip_address_mismatch: account.factorWrong,
  mfa_factor_not_found: account.factorWrong,
  mfa_factor_name_conflict: settings.factorTaken,
  too_many_enrolled_mfa_factors: settings.factorTooMany,
  mfa_totp_enroll_not_enabled: settings.factorOff,
});

/** An error of auth in the visitor's language. */
export function refusedByAuth(problem: AuthProblem, visit: Visit): WordedError {
  const { account, problems } = visit.messages;
  const { code = "", status, message } = problem;
  const refused = (said: string) => new WordedError("CONFLICT", said);
  const ofField = (field: string, said: string) =>
    new WordedError("VALIDATION_ERROR", said, [{ field, message: said }]);
  const limited = (said: string, retry_after: number) =>
    new WordedError("RATE_LIMIT_EXCEEDED", said, [], { retry_after });
  const lasting = lastingProblems(visit.messages);
  if (Object.hasOwn(lasting, code)) return refused(lasting[code] as string);
  if (code === "over_email_send_rate_limit" && !isTooSoon(problem)) return limited(account.mailLimit, 3600);
  if (status === 429) {
    const seconds = Math.max(1, secondsToWait(message));
    return limited(account.tooOften(seconds), seconds);
  }
  if (code === "same_password") return ofField("password", account.samePassword);
  if (code === "weak_password") return ofField("password", weaknessOf(problem, visit));
  if (code === "email_address_invalid") return ofField("email", problems.email);
  if (code === "validation_failed")
    return message.startsWith("Password")
      ? ofField("password", problems.bytes(maxPasswordBytes))
      : refused(problems.codes.VALIDATION_ERROR);
  if (isAway(problem) || status === 500)
    return new WordedError("SERVICE_UNAVAILABLE", account.away, [], { retry_after: 30 });
  return refused(account.notPossible);
}

/** Why a password is weak. The error of auth contains the required length and the required kinds of characters. */
function weaknessOf({ message, reasons = [] }: AuthProblem, { messages: { account }, locale }: Visit): string {
  const sets = /one character of each: (.*)\./s.exec(message)?.[1] ?? "";
  const { letters, lower, upper, digits, symbols } = account.kinds;
  const kinds = [
    ...(/zA|Za/.test(sets) ? [letters] : [/abc/.test(sets) && lower, /ABC/.test(sets) && upper]),
    /123/.test(sets) && digits,
    /[#$%&]/.test(sets) && symbols,
  ].filter((kind) => kind !== false);
  const said = [
    reasons.includes("length") && account.weakLength(Number(/at least (\d+)/.exec(message)?.[1] ?? 8)),
    reasons.includes("characters") && account.weakKinds(formatList(kinds, locale)),
    reasons.includes("pwned") && account.pwned,
  ].filter(Boolean);
  return said.join(" ") || account.weak;
}

const answerMs = 1_000;

/** Responses about an address take this long, so that their time does not reveal whether there is an account. */
export const equalTime = () => new Promise<void>((resolve) => setTimeout(resolve, answerMs));

/** Errors that are the same for every address. */
const isOfEveryAddress = (problem: AuthProblem) =>
  isAway(problem) ||
  [
    "captcha_failed",
    "email_address_invalid",
    "email_provider_disabled",
    "over_request_rate_limit",
    "validation_failed",
  ].includes(problem.code ?? "");

type Asked = Promise<{ error: AuthProblem | null }>;

/** Sends a code if there is an account. The response does not wait for auth, which may still be sending the mail. */
async function sendCode(visit: Visit, email: string, next: string, asked: Asked): Promise<JsonResponse> {
  const time = equalTime();
  const error = (await Promise.race([asked, time.then(() => undefined)]))?.error;
  await time;
  if (error && isOfEveryAddress(error)) throw refusedByAuth(error, visit);
  return codeIsSent(visit, email, next, asked);
}

/** Redirects to the page for the code. The request counts even if auth sends no mail, such as directly after another one. */
export function codeIsSent(visit: Visit, email: string, next: string, asked: Asked): JsonResponse {
  rememberAddress(visit, email);
  const afterResponse = async () => {
    const { error } = await asked;
    return error ? [countUnconfirmedRequest(email)] : [];
  };
  return { ...seeOther(next), afterResponse };
}

const addressCookie = hostCookie("address");

/** Keeps the address that a code was sent to for the form that asks for the code. A cookie keeps it out of URLs and logs. */
export const rememberAddress = ({ session }: Visit, email: string) =>
  session.cookies.push({ name: addressCookie, value: email, options: { ...cookieOptions, maxAge: 3600 } });

type FormProps = PropsWithChildren<{ of?: Page; to?: string; submit: string }>;

/** A form of these pages. The browser loads the next page without Turbo, because the session may change. */
export const AccountForm = (props: FormProps) => (
  <Form class="stack" hasTurbo={false} returnTo={returnPath(useVisit())} {...props} />
);

export const EmailField = ({ value }: { value?: string | undefined }) => (
  <Field
    name="email"
    type="email"
    label={useVisit().messages.account.email}
    autocomplete="username"
    value={value}
    required
  />
);

export const NameField = () => {
  const { account } = useVisit().messages;
  return <Field name="name" label={account.name} hint={account.nameHint} autocomplete="name" />;
};

export const NewPasswordField = ({ label }: { label: string }) => (
  <Field
    name="password"
    label={label}
    hint={useVisit().messages.account.passwordHint(minPassword)}
    type="password"
    autocomplete="new-password"
    required
    minlength={minPassword}
    maxlength={maxPasswordBytes}
  />
);

type Verification = Parameters<ReturnType<Visit["auth"]>["verifyOtp"]>[0];

/** Signs in with a code or with the token of a link. Without a session it was the first of two confirmations. */
export async function verify(visit: Visit, verification: Verification) {
  const time = equalTime();
  const { data, error } = await visit.auth().verifyOtp(verification);
  if (!error) return data.session;
  await time;
  // Auth reports a banned account before it checks the code, which would reveal that there is an account.
  const isHidden = "email" in verification && error.code === "user_banned";
  throw refusedByAuth(isHidden ? { code: "otp_expired", message: "" } : error, visit);
}

/** The page that asks a new person for a password. */
export const firstPassword = (to: string) => withQuery(withReturn(newPasswordPath, to), "first=true");

/** The page after a first sign-in by code or link: it asks for a password if the account has none. */
export async function afterProof(to: string, token: string, executeAs: ExecuteAs): Promise<JsonResponse> {
  const credential = await credentialOf(undefined, token);
  // A session that still needs the second factor is refused; such an account is not new.
  const [[row]] = await executeAs(credential)([needsPassword()]).catch(() => [[]]);
  return seeOther(row?.data ? firstPassword(to) : to);
}

/** The content of a page with one card. */
export const Card = ({ title, text: said, children }: { title: string; text?: string; children?: Child }) => (
  <section class="card narrow">
    <h1>{title}</h1>
    {said && <p class="quiet">{said}</p>}
    {children}
  </section>
);

export const BackToSignIn = () => {
  const visit = useVisit();
  return <LinkLine href={withReturn("/sign-in", returnPath(visit))}>{visit.messages.account.signInTitle}</LinkLine>;
};

type Mailed = {
  /** Path of the page that asks for the address. */
  path: string;
  /** Path of the page that asks for the code. */
  codePath: string;
  title: Word;
  text: Word;
  /** Asks auth to send the code. */
  send: (visit: Visit, email: string, to: string) => Asked;
  /** Signs in with the code. */
  enter: (
    typed: { email: string; code: string; to: string },
    visit: Visit,
    executeAs: ExecuteAs,
  ) => Promise<JsonResponse>;
};

/** The two pages of a sign-in by mail: one asks for the address, the other one for the code that was sent. */
export const codePages = ({ path, codePath, title, text, send, enter }: Mailed): Page[] => [
  page({
    path,
    query: returnQuery,
    view: (_none, { visit }) => {
      const { account } = visit.messages;
      return {
        title: account[title],
        ...captchaHead(),
        content: (
          <Card title={account[title]} text={account[text]}>
            <AccountForm submit={account.sendCode}>
              <EmailField />
              <Captcha />
            </AccountForm>
            <BackToSignIn />
          </Card>
        ),
      };
    },
    actions: [
      form({
        path,
        operation: "sign_in_mail",
        body: address,
        work: ({ body: { email, return_to }, visit }) =>
          sendCode(visit, email, withReturn(codePath, return_to), send(visit, email, return_to)),
      }),
    ],
  }),
  page({
    path: codePath,
    query: returnQuery,
    view: (_none, { visit }) => {
      const { account } = visit.messages;
      return {
        title: account.codeTitle,
        content: (
          <Card title={account.codeTitle} text={account.codeText}>
            <AccountForm submit={account.next}>
              <EmailField value={visit.cookie(addressCookie)} />
              <Field name="code" label={account.code} autocomplete="one-time-code" />
            </AccountForm>
            <LinkLine href={withReturn(path, returnPath(visit))}>{account.newCode}</LinkLine>
          </Card>
        ),
      };
    },
    actions: [
      form({
        path: codePath,
        operation: "sign_in",
        body: addressAndCode,
        work: ({ body: { email, code, return_to: to }, visit }, _execute, _request, executeAs) =>
          enter({ email, code, to }, visit, executeAs),
      }),
    ],
  }),
];
