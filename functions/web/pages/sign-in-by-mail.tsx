import { captchaToken } from "../components/captcha.tsx";
import { seeOther } from "../page.tsx";
import type { Visit } from "../visit.ts";
import { afterProof, codePages, mailedUrl, verify } from "./account.tsx";

/** Sign-in by a mail from auth: a code to enter, or a link (confirm-link.tsx). */
export const mailSignInPages = codePages({
  path: "/sign-in/email",
  codePath: "/sign-in/code",
  title: "mailTitle",
  text: "mailText",
  send: async (visit: Visit, email: string, to: string) => {
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
  },
  enter: async ({ email, code, to }, visit, executeAs) => {
    // The form was sent before: the code is used, and the visitor has the session.
    if (visit.isSignedIn && (await visit.auth().getUser()).data.user?.email === email.toLowerCase())
      return seeOther(to);
    const session = await verify(visit, { email, token: code, type: "email" });
    return session ? afterProof(to, session.access_token, executeAs) : seeOther(to);
  },
});
