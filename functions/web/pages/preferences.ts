import { z } from "zod";
import { locale } from "../../../shared/locales.ts";
import { changeMe } from "../../_shared/statements/people.ts";
import { plain, seeOther } from "../page.tsx";
import { keptForAYear, languageCookie, ownPath, themes } from "../visit.ts";

/** Stores the language with the account of a signed-in user, and language and theme in cookies. */
export const preferences = plain({
  method: "post",
  path: "/preferences",
  isBeforeFactor: true,
  body: z.object({
    lang: locale.optional(),
    theme: z.enum([...themes, "system"]).optional(),
    return_to: z.string().max(2000).optional(),
  }),
  call: ({ visit, body }) =>
    visit.session.credential.kind !== "none" && body.lang ? [changeMe({ locale: body.lang })] : [],
  respond: (_results, { visit, body }) => {
    const { cookies } = visit.session;
    if (body.lang) cookies.push(languageCookie(body.lang));
    if (body.theme)
      cookies.push({
        name: "theme",
        value: body.theme,
        options: body.theme === "system" ? { ...keptForAYear, maxAge: 0 } : keptForAYear,
      });
    return seeOther(withoutLanguage(ownPath(body.return_to) ?? "/"));
  },
});

/** The language in the URL would take precedence. */
function withoutLanguage(path: string): string {
  const url = new URL(path, "http://site.invalid");
  url.searchParams.delete("lang");
  return url.pathname + url.search;
}
