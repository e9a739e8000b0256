import { beforeAll, describe, expect, test } from "vitest";
import { messagesOf } from "../../functions/words/index.ts";
import { type Locale, locales } from "../../shared/locales.ts";
import { newComment, newOrganization, newSubmission, newUser, type Organization } from "../api/world.ts";
import { newVisitor, signedIn, type Visitor } from "./pages.ts";
import { textsOf, wordsOf } from "./texts.ts";

/** The texts outside of the dashboard. */
function textsOutside(locale: Locale) {
  const { admin, ...outside } = messagesOf(locale);
  return textsOf(outside);
}

const others = locales.filter((locale) => locale !== "en");

// Words that are the same in several languages.
const international =
  /^(Status|Name|Roadmap|Notifications|Password|System|Feedback|Team|Design|Spam|Tags|Code|Agent|Webhook)$/;

describe.each(others)("in %s", (locale) => {
  const english = new Map(textsOutside("en"));
  const own = textsOutside(locale);

  test("no message is left in English, and none is empty", () => {
    const same = own.filter(([name, text]) => text === english.get(name) && !international.test(text));
    expect(same.filter(([, text]) => text.split(" ").length > 2)).toEqual([]);
    // Words may be the same by chance, as "questions" in French; most are not.
    expect(same.length).toBeLessThan(12);
    expect(own.filter(([, text]) => text.trim() === "")).toEqual([]);
  });
});

let organization: Organization;
let user: Visitor;
let submission: string;

beforeAll(async () => {
  organization = await newOrganization();
  const signed = await signedIn();
  user = signed;
  submission = await newSubmission(organization, { id: signed.userId }, { title: "Ŧïŧłé", type: "problem" });
  await newComment(submission, await newUser(), { body: "Ċömmëñŧ" });
});

const paths = (slug: string) => [
  `/o/${slug}`,
  `/o/${slug}?q=nothing`,
  `/o/${slug}/roadmap`,
  `/o/${slug}/new`,
  `/submissions/${submission}`,
  "/sign-in",
  "/sign-up",
  "/sign-in/email",
  "/sign-in/code",
  "/reset",
  "/reset/code",
  "/reset/password",
  "/auth/confirm?token_hash=x&type=magiclink",
  "/auth/callback",
  "/me",
  "/me?list=comments",
  "/me?list=answers",
  "/notifications",
  "/notifications?unread=true",
  "/settings",
  "/settings?saved=true",
  "/sign-in/factor",
  "/settings/factor",
  "/settings/factor/code",
  "/settings/erase",
  "/goodbye",
  "/nowhere",
];

test.each(others)("no page shows an English message to readers of %s", async (locale) => {
  const catalogue = new Set(textsOutside(locale).map(([, text]) => text));
  const english = new Set(
    textsOutside("en")
      .map(([, text]) => text)
      .filter((text) => !catalogue.has(text)),
  );
  const visitor = newVisitor();
  await visitor.post("/preferences", { lang: locale });
  await user.post("/preferences", { lang: locale });
  for (const path of paths(organization.slug))
    for (const who of [visitor, user]) {
      const { html } = await who.get(path);
      const shown = html.querySelector("html")?.getAttribute("lang");
      // A page that requires signing in redirects.
      if (shown === undefined) continue;
      expect(shown, path).toBe(locale);
      expect(
        wordsOf(html).filter((text) => english.has(text)),
        `${locale} ${path}`,
      ).toEqual([]);
    }
  for (const path of ["/sign-in", "/sign-up", "/reset", "/sign-in/email", "/sign-in/code"]) {
    const { status, html } = await visitor.post(path, { email: "x" });
    expect(status, path).toBe(422);
    const problems = html.querySelectorAll(".problem").map(({ text }) => text);
    expect(problems.length, path).toBeGreaterThan(1);
    expect(problems.join(" "), path).not.toMatch(/\b(must|required|request|valid\b)/);
  }
});
