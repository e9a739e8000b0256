import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Messages, messagesOf } from "../../functions/words/index.ts";
import { type Locale, locales } from "../../shared/locales.ts";
import { ownStack } from "../own-stack.ts";
import { newVisitor, type Visitor } from "./pages.ts";

// Whatever goes wrong, the answer is a page in the visitor's language that leads on.

const own = await ownStack({ parts: ["web"] });
let submission: string;
let people: Record<"visitor" | "user", Visitor>;

beforeAll(async () => {
  const [author, user] = await own.people(2);
  if (!author || !user) throw new Error("nobody was made");
  submission = await own.submission(author);
  const session = Buffer.from(JSON.stringify({ access_token: user.token })).toString("base64url");
  const cookies = [{ name: "sb-127-auth-token", value: `base64-${session}` }];
  people = { visitor: newVisitor([], own.site_url), user: newVisitor(cookies, own.site_url) };
});

type Refusal = {
  status: number;
  of: string;
  title: (errors: Messages["errors"]) => string;
  ask: (headers: Record<string, string>) => ReturnType<Visitor["get"]>;
};

const refusals: Refusal[] = [
  {
    status: 403,
    of: "a form of another site",
    title: (errors) => errors.forbidden,
    ask: (headers) =>
      people.user.post(`/submissions/${submission}/vote`, {}, { ...headers, origin: "https://evil.example" }),
  },
  {
    status: 403,
    of: "what is another's to edit",
    title: (errors) => errors.forbidden,
    ask: (headers) => people.user.get(`/submissions/${submission}/edit`, headers),
  },
  {
    status: 404,
    of: "an unknown address",
    title: (errors) => errors.notFound,
    ask: (headers) => people.visitor.get("/nowhere", headers),
  },
  {
    status: 404,
    of: "an unknown submission",
    title: (errors) => errors.notFound,
    ask: (headers) => people.visitor.get("/submissions/00000000-0000-4000-8000-000000000000", headers),
  },
  {
    status: 404,
    of: "an unknown organization",
    title: (errors) => errors.notFound,
    ask: (headers) => people.visitor.get("/o/nobody-at-all", headers),
  },
  {
    status: 400,
    of: "a filter that there is not",
    title: (errors) => errors.refused,
    ask: (headers) => people.visitor.get("/?status=bogus", headers),
  },
  {
    status: 409,
    of: "a link of a provider that is no good",
    title: (errors) => errors.refused,
    ask: (headers) => people.visitor.get("/auth/callback?code=x", headers),
  },
  {
    status: 413,
    of: "a form of a megabyte",
    title: (errors) => errors.refused,
    ask: (headers) => people.user.post("/new", { title: "x".repeat(2_000_000) }, headers),
  },
];

/** Headers and content common to all error pages. */
async function expectPage({ ask, status, title }: Omit<Refusal, "of">, locale: Locale) {
  const answer = await ask({ "accept-language": locale });
  expect(answer.status).toBe(status);
  expect(answer.headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(answer.html.querySelector("html")?.getAttribute("lang")).toBe(locale);
  const { errors } = messagesOf(locale);
  expect(answer.html.querySelector("h1")?.text).toBe(title(errors));
  expect(answer.html.querySelector(".error-page .button")?.text).toBe(errors.back);
  expect(answer.html.querySelector(".error-page .button")?.getAttribute("href")).toMatch(/^\/(o\/[\w-]+\/)?$/);
  expect(answer.headers["x-robots-tag"]).toBe("noindex");
  expect(answer.text).not.toMatch(/private\.|relation|at .*\.tsx?:\d/);
  return answer;
}

describe.each(refusals)("$status for $of", (refusal) => {
  test("is a page in each language", async () => {
    for (const locale of locales) await expectPage(refusal, locale);
  });
});

test.each(locales)("422 is the form as it was typed, in %s", async (locale) => {
  const typed = { type: "idea", title: "No", description: "<b>Too short" };
  const { status, html, headers } = await people.user.post("/new", typed, { "accept-language": locale });
  expect(status).toBe(422);
  expect(headers["content-language"]).toBe(locale);
  expect(html.querySelector(".notice.problem")?.text).toBe(messagesOf(locale).forms.problem);
  expect(html.querySelector("#title")?.getAttribute("value")).toBe("No");
  expect(html.querySelector("#description")?.text).toBe("<b>Too short");
});

describe("429, by the limit of pages,", () => {
  const limit = (requests: number) =>
    own.sql`update private.rate_limit_rules set max_requests = ${requests} where name = 'page'`;
  afterEach(async () => {
    await limit(100_000);
    await own.sql`delete from private.rate_counters`;
  });

  test("is a page that says how long to wait", async () => {
    await limit(1);
    const ask = (headers: Record<string, string>) => newVisitor([], own.site_url).get("/", headers);
    await ask({});
    for (const locale of locales) {
      const { errors } = messagesOf(locale);
      const { headers, text } = await expectPage({ ask, status: 429, title: () => errors.tooMany }, locale);
      const wait = Number(headers["retry-after"]);
      expect(wait).toBeGreaterThan(0);
      expect(text).toContain(errors.tooManyText(wait));
    }
  });
});

test("500 is a page with the number of the request, and says nothing of what failed", async () => {
  await own.sql`alter table public.submissions rename to submissions_elsewhere`;
  try {
    for (const locale of locales) {
      const { errors } = messagesOf(locale);
      const ask = (headers: Record<string, string>) => people.visitor.get("/", headers);
      const { headers, text } = await expectPage({ ask, status: 500, title: () => errors.failed }, locale);
      expect(text).toContain(errors.failedText(String(headers["x-request-id"])).replaceAll("'", "&#39;"));
    }
  } finally {
    await own.sql`alter table public.submissions_elsewhere rename to submissions`;
  }
});

test("503 is a page too, while rows are locked", async () => {
  const locking = await own.sql.reserve();
  try {
    await locking`begin`;
    await locking`lock table public.submissions in access exclusive mode`;
    const ask = (headers: Record<string, string>) => people.visitor.get("/", headers);
    const { headers, text } = await expectPage({ ask, status: 503, title: (errors) => errors.failed }, "de");
    expect(headers["retry-after"]).toMatch(/^\d+$/);
    expect(text).toContain(String(headers["x-request-id"]));
  } finally {
    await locking`rollback`;
    locking.release();
  }
});
