import { randomUUID } from "node:crypto";
import { Agent } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newComment, newOrganization, newSubmission, newUser, type Organization } from "../api/world.ts";
import { cookieHeader } from "../browsers/session.ts";
import { type HttpCall, send } from "../http.ts";
import { accessToken, sql, stack } from "../stack.ts";
import { newVisitor, type Person, signedIn, type Visitor } from "../web/pages.ts";

// Attacks on the pages by an anonymous visitor, a user and a member of another tenant.

const agent = new Agent({ keepAlive: true });
const sessionCookie = "sb-127-auth-token";
const origin = new URL(stack.site_url).origin;
const { port } = new URL(stack.site_url);

let home: Organization;
let rivals: Organization;
let hidden: Organization;
let submission: string;
let user: Person;
let rival: Person;

beforeAll(async () => {
  [home, rivals, hidden, user] = await Promise.all([
    newOrganization(),
    newOrganization(),
    newOrganization({ visibility: "private" }),
    signedIn(),
  ]);
  rival = await signedIn({ organization: rivals, role: "owner" });
  submission = await newSubmission(home, { id: user.userId });
});
afterAll(() => agent.destroy());

/** A request with any header, without those that a browser adds. */
const request = (method: string, path: string, call: Omit<HttpCall, "agent"> = {}) =>
  send(method, stack.site_url + path, { ...call, agent });

const formHeaders = { "content-type": "application/x-www-form-urlencoded", origin };

const hasVoted = async (id: string, userId: string) =>
  (await sql`select from public.votes where submission_id = ${id} and user_id = ${userId}`).length > 0;

describe("a redirect never leads to another site", () => {
  const elsewhere = [
    "https://evil.example/",
    "//evil.example",
    "/\\evil.example",
    "\\/evil.example",
    "/\t/evil.example",
    "/.//evil.example",
    "/x/..//evil.example",
    "/%2e//evil.example",
    " //evil.example",
    "/\n/evil.example",
    "javascript:alert(1)",
    "http:evil.example",
    "@evil.example",
    "/%5cevil.example",
    "/%2fevil.example",
    "/%2F%5Cevil.example",
    "/%09/evil.example",
    "/new;@evil.example",
    "/new%3b/../evil.example",
    "/a\\b",
    "/a\tb",
    "/\u0001",
    "/%00",
    "/%ff",
  ];
  // Resolves the location as a browser would.
  const originOf = (location: string | undefined) => new URL(location ?? "", `${origin}/page`).origin;

  test.each(elsewhere)("by return_to %j", async (path) => {
    const visitor = newVisitor();
    const chosen = await visitor.post("/preferences", { theme: "dark", return_to: path });
    expect([chosen.status, originOf(chosen.location)]).toEqual([303, origin]);
    const voted = await rival.post(`/submissions/${submission}/vote`, { return_to: path });
    expect([voted.status, originOf(voted.location)]).toEqual([303, origin]);
    for (const location of [chosen.location, voted.location])
      expect(decodeURIComponent(location ?? "")).not.toMatch(/\/\/|[;\\\p{Cc}]/u);
    const { html } = await visitor.get(`/sign-in?return_to=${encodeURIComponent(path)}`);
    for (const field of html.querySelectorAll("input[name=return_to]"))
      expect(originOf(field.getAttribute("value"))).toBe(origin);
  });

  test.each(["//evil.example/", "/.//evil.example/", "/x/..//evil.example", "/embed//evil.example/"])(
    "by the form's page %j",
    async (path) => {
      const referer = origin + path;
      const headers = { referer, "sec-fetch-dest": "document" };
      const voted = await rival.post(`/submissions/${submission}/vote`, {}, headers);
      expect([voted.status, originOf(voted.location)]).toEqual([303, origin]);
    },
  );

  test("and not the form's page with a semicolon", async () => {
    const fields = { title: "Something typed", return_to: "/new;Domain=evil.example" };
    const { status, location } = await newVisitor().post("/new", fields);
    expect([status, location]).toEqual([303, "/sign-in?return_to=%2F"]);
    const referer = `${origin}/o/a;b/new`;
    expect((await newVisitor().post("/new", { title: "Something typed" }, { referer })).status).toBe(303);
  });

  test("and cannot inject headers", async () => {
    for (const path of ["/\r\nSet-Cookie: a=b", "/%0d%0aSet-Cookie:%20a=b", "/\u010a\u0164", "/ 日本 語"]) {
      const { status, headers } = await rival.post(`/submissions/${submission}/vote`, { return_to: path });
      expect(status).toBe(303);
      expect(headers["set-cookie"]).toBeUndefined();
      expect(headers.location).toMatch(/^\/[\x21-\x7e]*$/);
    }
  });
});

describe("a form posted by another site is rejected", () => {
  const origins = ["https://evil.example", "null", `${origin}.evil.example`, `${origin}@evil.example`, ""];
  const forms = (): [string, Record<string, string>][] => [
    [`/submissions/${submission}/vote`, {}],
    [`/submissions/${submission}/vote`, { _method: "delete" }],
    ["/sign-in", { email: "a@b.example", password: "of the attacker" }],
    ["/sign-up", { name: "Mallory", email: `${randomUUID()}@evil.example`, password: randomUUID() }],
    ["/sign-out", {}],
    ["/preferences", { lang: "ja", theme: "dark" }],
  ];

  test.each(origins)("from %j, with any fields", async (from) => {
    for (const [path, fields] of forms()) {
      const { status, headers } = await user.post(path, fields, { origin: from, referer: `${origin}/` });
      expect([path, status]).toEqual([path, 403]);
      expect(headers["set-cookie"]).toBeUndefined();
    }
    expect(await hasVoted(submission, user.userId)).toBe(true);
    expect((await user.get("/")).html.querySelector(".menu")).not.toBeNull();
  });

  test("also when the organization allows its origin, and when the Host header is forged to match", async () => {
    await sql`update public.organizations set allowed_origins = '{https://host.example}' where id = ${home.id}`;
    const path = `/submissions/${submission}/vote`;
    expect((await rival.post(path, {}, { origin: "https://host.example" })).status).toBe(403);
    const cookie = cookieHeader([{ name: sessionCookie, value: rival.cookie(sessionCookie) ?? "" }]);
    const forged = await request("POST", path, {
      raw: "",
      headers: { ...formHeaders, cookie, host: "evil.example", origin: "https://evil.example" },
    });
    expect(forged.status).toBe(403);
  });

  test.each(["text/plain", "application/json", "multipart/form-data; boundary=x"])(
    "also with content type %s",
    async (type) => {
      const { status } = await rival.post("/preferences", { theme: "dark" }, { "content-type": type });
      expect(status).toBe(415);
    },
  );

  test("no page responds to a script of another site", async () => {
    for (const path of ["/", "/sign-in", `/submissions/${submission}`]) {
      const { headers } = await request("GET", path, { headers: { origin: "https://evil.example" } });
      expect(headers["access-control-allow-origin"]).toBeUndefined();
      expect(headers["access-control-allow-credentials"]).toBeUndefined();
    }
  });
});

describe("the method of a form", () => {
  const votePath = () => `/submissions/${submission}/vote`;

  test("is one of those that the path accepts", async () => {
    const before = await hasVoted(submission, rival.userId);
    for (const method of ["put", "patch", "get", "DELETE", "trace", "__proto__"]) {
      const { status } = await rival.post(votePath(), { _method: method });
      expect([method, status]).toEqual([method, 404]);
    }
    expect(await hasVoted(submission, rival.userId)).toBe(before);
  });

  test("is not read from the query or a header", async () => {
    const path = `/submissions/${await newSubmission(home, await newUser())}/vote`;
    await rival.post(path);
    for (const name of ["x-http-method-override", "x-http-method"]) await rival.post(path, {}, { [name]: "DELETE" });
    await rival.post(`${path}?_method=delete`);
    await rival.get(`${path}?_method=delete`);
    expect(await hasVoted(path.split("/")[2] ?? "", rival.userId)).toBe(true);
  });

  test("is never changed by a link", async () => {
    for (const path of ["/sign-out", votePath(), "/preferences?theme=dark"])
      expect((await user.get(path)).status, path).toBe(404);
    expect((await user.get("/")).html.querySelector(".menu")).not.toBeNull();
  });
});

describe("a form of a submission", () => {
  test("redirects back with any slug after the id in its address", async () => {
    for (const tail of ["-日本語", "-%0d%0aSet-Cookie:%20a=b", "-\u010a"]) {
      const path = `/submissions/${submission}${encodeURI(decodeURIComponent(tail))}`;
      const { status, headers } = await user.post(`${path}/comments`, { body: "One more." });
      expect([tail, status]).toEqual([tail, 303]);
      expect(headers.location).toMatch(/^\/submissions\/[\x21-\x7e]*$/);
      expect(headers["set-cookie"]).toBeUndefined();
    }
  });

  test("without a method does not change or delete", async () => {
    const path = `/submissions/${submission}`;
    expect((await user.post(path, { title: "Changed by a post without a method" })).status).toBe(404);
    expect((await user.post(path, { _method: "delete" }, { "content-type": "text/plain" })).status).toBe(415);
    const rows = await sql`select from public.submissions where id = ${submission} and title = 'A submission'`;
    expect(rows).toHaveLength(1);
  });

  test("has no effect on the rows of another tenant", async () => {
    const [target, own] = await Promise.all([
      newSubmission(home, { id: user.userId }),
      newSubmission(rivals, { id: rival.userId }),
    ]);
    const attempts: [string, Record<string, string>][] = [
      [`/submissions/${target}`, { _method: "delete" }],
      [`/submissions/${target}`, { _method: "patch", title: "Taken over by another tenant" }],
      [`/submissions/${target}/status`, { _method: "patch", status: "declined" }],
      [`/submissions/${own}/status?organization=${home.slug}`, { _method: "patch", status: "declined", id: target }],
      [
        `/submissions/${own}/moderation`,
        { type: "submission", id: target, ids: target, action: "reject", state: "rejected" },
      ],
      [`/submissions/${target}/moderation`, { type: "submission", id: target, ids: target, action: "reject" }],
      [`/submissions/${own}/merge`, { source_ids: target, target_id: own }],
      [`/submissions/${own}/merge`, { source_ids: own, target_id: target }],
      [`/submissions/${target}/merge`, { source_ids: target, target_id: own }],
      [`/submissions/${own}/unmerge`, { submission_id: target }],
    ];
    const row = () =>
      sql`select title, status, moderation_state, merged_into_id from public.submissions where id = ${target}`;
    const before = [...(await row())];
    for (const [path, fields] of attempts) {
      const { status } = await rival.post(path, fields);
      expect([path, fields._method, status >= 400 || path.includes(own)]).toEqual([path, fields._method, true]);
      expect(status, path).toBeLessThan(500);
    }
    expect([...(await row())]).toEqual(before);
    for (const page of ["edit", "delete", "merge", "voters"])
      expect([page, (await rival.get(`/submissions/${target}/${page}`)).status >= 403]).toEqual([page, true]);
  });

  test("the realtime token is returned only to pages of the site, for their user", async () => {
    const { headers, status } = await user.get("/realtime-token", { origin: "https://evil.example" });
    expect(status).toBe(200);
    expect(headers["cross-origin-resource-policy"]).toBe("same-origin");
    expect(headers["access-control-allow-origin"]).toBeUndefined();
    expect((await newVisitor().get("/realtime-token")).text).not.toContain("eyJ");
  });
});

describe("user text is only text", () => {
  const markup = `"><img src=x onerror=alert(1)><script>alert(2)</script><svg/onload=alert(3)>{{7*7}}</title>'`;

  test("in every field of a board and of its visitor", async () => {
    const board = await newOrganization();
    const id = await newSubmission(board, { id: user.userId });
    const title = `${markup} pelican`;
    await sql`update public.organizations set name = ${markup} where id = ${board.id}`;
    await sql`update public.profiles set name = ${markup} where id = ${rival.userId}`;
    const [category] = await sql<{ id: string }[]>`
      insert into public.categories (organization_id, slug, name, color)
      values (${board.id}, 'c', ${markup}, '#336699') returning id`;
    await sql`
      update public.submissions set ${sql({ title, description: title, category_id: category?.id ?? null })}
      where id = ${id}`;
    await newComment(id, { id: rival.userId }, { body: `${markup} javascript:alert(1) https://x.example/"onload=` });
    await sql`
      update public.submissions set tracker_issue_url = 'https://x.example/"><script>alert(1)</script>'
      where id = ${id}`;
    for (const path of ["", "?q=pelican", `?q=${encodeURIComponent(markup)}`, "?category=c"])
      expectNoMarkup(await rival.get(`/o/${board.slug}${path}`));
    const { location } = await rival.get(`/submissions/${id}`);
    expectNoMarkup(await rival.get(location ?? ""));
    expectNoMarkup(await user.get(`/submissions/${id}/edit`));
    expectNoMarkup(await rival.get(`/new/similar?title=${encodeURIComponent(title)}`));
  });

  test("in the address", async () => {
    const text = encodeURIComponent(markup);
    for (const path of [
      `/${text}`,
      `/o/${text}`,
      `/?status=${text}`,
      `/?cursor=${text}`,
      `/?tag=${text}`,
      `/?${text}=1`,
      `/?lang=${text}`,
      `/sign-in?return_to=${encodeURIComponent(`/${markup}`)}`,
      `/submissions/${text}`,
    ])
      expectNoMarkup(await newVisitor().get(path));
  });

  test("in a rejected form", async () => {
    const visitor = newVisitor();
    const fields = { name: markup, email: markup, password: "x", return_to: `/${markup}` };
    expectNoMarkup(await visitor.post("/sign-up", fields));
    expectNoMarkup(await visitor.post("/sign-in", fields));
  });

  test("in the URL of a logo or an avatar: no script runs, and no style is set", async () => {
    const board = await newOrganization();
    await sql`update public.organizations set brand_color = '#123abc' where id = ${board.id}`;
    const { html } = await newVisitor().get(`/o/${board.slug}`);
    expect(html.querySelectorAll("[style], style")).toHaveLength(0);
    for (const name of ["123abc.css%22", "..%2f..%2fhealth", "123abc.css/../x", "zzzzzz.css", "123ABC;}.css"])
      expect((await request("GET", `/brand/${name}`)).status).toBe(404);
  });

  test("in the URL of an avatar: the browser of a reader asks no host that the author chose", async () => {
    await sql`update public.organizations set allowed_origins = '{https://app.example.org}' where id = ${home.id}`;
    const [author, reader] = [await newUser("Ursula"), await signedIn()];
    const board = await newSubmission(home, author);
    await newComment(board, author);
    const pictureOf = async (url: string) => {
      await sql`update public.profiles set avatar_url = ${url} where id = ${author.id}`;
      const { html } = await reader.get((await reader.get(`/submissions/${board}`)).location ?? "");
      expect(html.querySelector("#comments")?.textContent).toContain("Ursula");
      return html.querySelector("#comments img.avatar")?.getAttribute("src");
    };
    for (const url of [
      "https://evil.example/a.png",
      "https://avatars.githubusercontent.com.evil.example/a.png",
      "https://avatars.githubusercontent.com@evil.example/a.png",
      "https://app.example.org.evil.example/a.png",
      "http://avatars.githubusercontent.com/u/1",
      `${origin}/sign-in/github`,
      `${stack.supabase_url}/storage/v1/object/public/../../../../sign-in`,
    ])
      expect(await pictureOf(url), url).toMatch(/^data:/);
    for (const url of ["https://avatars.githubusercontent.com/u/1", "https://app.example.org/a.png"])
      expect(await pictureOf(url)).toBe(url);
  });

  function expectNoMarkup({ status, html, text, headers }: Awaited<ReturnType<Visitor["get"]>>) {
    expect(status).toBeLessThan(500);
    expect(headers["content-type"]).toMatch(/^text\/html/);
    expect(html.querySelectorAll("img[onerror], svg[onload], [src=x]")).toHaveLength(0);
    expect(text).not.toMatch(/<script>|<img src=x|<svg\/onload/i);
    for (const script of html.querySelectorAll("script"))
      expect(script.getAttribute("src") ?? script.getAttribute("type")).toMatch(/^\/assets\/|^application\/ld\+json$/);
    for (const link of html.querySelectorAll("a[href], form[action]"))
      expect(link.getAttribute("href") ?? link.getAttribute("action")).toMatch(/^(?:[/#?]|https?:)/);
  }
});

describe("no page can be framed, cached or built for another host", () => {
  test("with any status", async () => {
    for (const path of ["/", "/sign-in", "/nowhere", "/?status=bogus", `/o/${hidden.slug}`]) {
      const { headers } = await newVisitor().get(path);
      expect(headers["content-security-policy"]).toMatch(/frame-ancestors 'none'(?:;|$)/);
      expect(headers["content-security-policy"]).not.toMatch(/unsafe-(?:inline|eval)/);
      // A visitor's own browser may keep the board, and asks whether it is still right.
      expect(headers["cache-control"]).toBe(path === "/" ? "private, no-cache" : "no-store");
      expect(headers["x-content-type-options"]).toBe("nosniff");
    }
  });

  test.each([
    ["host", "evil.example"],
    ["x-forwarded-host", "evil.example"],
    ["forwarded", "host=evil.example"],
    ["x-original-url", "//evil.example/"],
    ["x-forwarded-proto", "gopher"],
  ])("a header %s: %s appears in none of it", async (name, value) => {
    for (const path of ["/", "/sign-in", "/nowhere", "/?q=pelican"])
      expect((await request("GET", path, { headers: { [name]: value } })).text).not.toMatch(/evil\.example|gopher/);
  });

  test("a flood of colors and assets is cacheable: one URL each, no cookie read, no database query", async () => {
    const asset = /\/assets\/[\w-]+\.css/.exec((await newVisitor().get("/")).text)?.[0] ?? "";
    const cookie = `${sessionCookie}={"access_token":"x","refresh_token":"x","expires_at":1}`;
    const colors = Array.from({ length: 500 }, (_, n) => `/brand/${(n * 33_331).toString(16).padStart(6, "0")}.css`);
    for (const path of [asset, ...colors]) {
      const { status, headers } = await request("GET", path, { headers: { cookie } });
      expect([path, status]).toEqual([path, 200]);
      expect(headers["cache-control"]).toBe("public, max-age=31536000, immutable");
      for (const name of ["set-cookie", "x-request-id"]) expect([name, headers[name]]).toEqual([name, undefined]);
      expect(headers.vary ?? "Accept-Encoding").toBe("Accept-Encoding");
    }
    for (const name of [
      "ABCDEF.css",
      "abc.css",
      "abcdef",
      "abcdef.png",
      "abcde&quot;.svg",
      "0abcdef.css",
      "abcdef.css.css",
      "%61bcdef.css%00",
    ])
      expect([name, (await request("GET", `/brand/${name}`)).status]).toEqual([name, 404]);
  });

  test("an asset without a hash in its name returns 404 and is not cached", async () => {
    for (const name of ["app.js", "..index.ts", "constructor", "__proto__", "toString"]) {
      const { status, headers } = await request("GET", `/assets/${name}`);
      expect([name, status, headers["cache-control"]]).toEqual([name, 404, "no-store"]);
    }
  });
});

describe("a private board", () => {
  test("appears in no page of an anonymous visitor, a user or another tenant's owner", async () => {
    const secret = `Secret ${randomUUID()}`;
    const id = await newSubmission(hidden, await newUser());
    await sql`update public.organizations set name = ${secret} where id = ${hidden.id}`;
    await sql`update public.submissions set title = ${secret}, description = ${secret} where id = ${id}`;
    const pages = ["", "/new", "/roadmap", "/feed.xml", "/sitemap.xml"].map((path) => `/o/${hidden.slug}${path}`);
    const others = [
      `/submissions/${id}`,
      `/submissions/${id}-secret`,
      `/submissions/${id}/feed.xml`,
      `/embed/submissions/${id}`,
      `/embed/o/${hidden.slug}`,
      `/?organization=${hidden.slug}`,
      `/?q=${encodeURIComponent(secret)}&organization=${hidden.id}`,
      "/sitemap.xml",
      "/robots.txt",
    ];
    for (const visitor of [newVisitor(), user, rival])
      for (const path of [...pages, ...others]) {
        const { status, text } = await request("GET", path, {
          headers: { cookie: `${sessionCookie}=${encodeURIComponent(visitor.cookie(sessionCookie) ?? "")}` },
        });
        expect(status, path).toBeLessThan(500);
        // The caller's own input may be in the field again.
        expect(text.replaceAll(`value="${secret}"`, "").replaceAll(`“${secret}”`, ""), path).not.toContain(secret);
      }
    expect((await rival.post(`/submissions/${id}/vote`)).status).toBe(404);
    expect((await rival.get("/", { "x-organization": hidden.slug })).text).not.toContain(secret);
  });

  test("responds like a missing one", async () => {
    const textOf = async (slug: string) => {
      const { status, text } = await rival.get(`/o/${slug}`);
      return [status, text.replaceAll(encodeURIComponent(slug), "…").replaceAll(slug, "…")];
    };
    expect(await textOf(hidden.slug)).toEqual(await textOf(`o-${randomUUID()}`));
  });
});

describe("cookies", () => {
  test("of a session are HttpOnly and SameSite=Lax", async () => {
    const visitor = newVisitor();
    const { headers } = await visitor.post("/sign-up", {
      name: "Wanda",
      email: `${randomUUID()}@web.example`,
      password: randomUUID(),
    });
    const set = [headers["set-cookie"] ?? []].flat();
    expect(set.length).toBeGreaterThan(0);
    for (const line of set) {
      expect(line).toMatch(/; HttpOnly/i);
      expect(line).toMatch(/; SameSite=Lax/i);
      expect(line).toMatch(/; Path=\//i);
      expect(line).not.toMatch(/; Domain/i);
    }
  });

  test.each([
    "%",
    "base64-%%%",
    "base64-////",
    "base64-bnVsbA",
    "base64-W10",
    "null",
    '{"access_token":{}}',
    '{"access_token":"x","refresh_token":{"a":1},"expires_at":"soon"}',
    '{"access_token":"x.y.z","refresh_token":"../../admin/users","expires_at":1}',
    "x".repeat(4000),
    "__proto__",
  ])("with the value %j make the visitor anonymous, without an error", async (value) => {
    for (const name of [sessionCookie, `${sessionCookie}.0`, `${sessionCookie}.1`]) {
      const { status, text } = await request("GET", "/", { headers: { cookie: `${name}=${value}` } });
      expect([name, status]).toEqual([name, 200]);
      expect(text).not.toContain("menu-items");
    }
  });

  test("cannot select an unknown language or theme", async () => {
    for (const cookie of ['lang=../../x; theme="><script>', "lang=__proto__; theme=constructor", "lang=; theme="]) {
      const { status, text } = await request("GET", "/", { headers: { cookie, "accept-language": "fr" } });
      expect(status).toBe(200);
      expect(text).toContain('<html lang="fr">');
    }
  });

  test("are the only credential of pages: headers sign nobody in", async () => {
    const token = await accessToken({ sub: user.userId });
    const { text } = await request("GET", "/", { token });
    expect(text).not.toContain("menu-items");
  });
});

describe("excessive requests are rejected, and others are served", () => {
  test("a form above the size limit", async () => {
    const raw = `theme=dark&x=${"y".repeat(1024 * 1024)}`;
    expect((await request("POST", "/preferences", { raw, headers: formHeaders })).status).toBe(413);
    const chunks = Array.from({ length: 80 }, () => "y".repeat(16_384));
    expect((await request("POST", "/preferences", { raw: ["x=", ...chunks], headers: formHeaders })).status).toBe(413);
  });

  test("a form of very many fields, before anything is made of them, and an address of very many parts", async () => {
    const fields = (count: number) => Array.from({ length: count }, (_, at) => `a${at}=1`).join("&");
    for (const path of ["/preferences", "/sign-in", "/new", `/surveys/${randomUUID()}`]) {
      const { status, text } = await user.postRaw(path, fields(40_000));
      expect([path, status]).toEqual([path, 413]);
      expect(text).toContain("The form has more than 5,000 fields.");
    }
    const raw = `${fields(4_999)}&theme=dark`;
    expect((await request("POST", "/preferences", { raw, headers: formHeaders })).status).toBe(303);
    const unread = await request("POST", "/preferences", { raw: "&".repeat(900_000), headers: formHeaders });
    expect(unread.status).toBe(413);
    const many = Array.from({ length: 150 }, (_, at) => `a${at}=1`).join("&");
    expect((await request("GET", `/?${many}`)).status).toBe(200);
    expect((await request("GET", `/${"a/".repeat(2900)}a`)).status).toBe(404);
  });

  test("an address that would be repeated in each link of a page", async () => {
    const path = `/o/${home.slug}`;
    for (const long of [
      `${path}?${"a&".repeat(29_000)}`,
      `${path}?${"a&".repeat(300)}`,
      `${path}?q=${"a".repeat(50_000)}`,
      `${path}?x=${"%E2%82%AC".repeat(6000)}`,
      `${path}/roadmap?${"a&".repeat(29_000)}`,
      `/o/${"a".repeat(50_000)}`,
      `/submissions/${submission}-${"a".repeat(50_000)}`,
      `/feed.xml?${"a&".repeat(29_000)}`,
    ]) {
      const { status, text } = await request("GET", long);
      // An unknown organization is not found.
      expect([long.slice(0, 60), status]).toEqual([long.slice(0, 60), long.startsWith("/o/aa") ? 404 : 413]);
      expect(text.length).toBeLessThan(10_000);
      expect(text).not.toContain("aaaaaaaa");
    }
    const fits = await request("GET", `${path}?x=${"a".repeat(10_000)}`);
    expect(fits.status).toBe(200);
    expect(fits.text.length).toBeLessThan(1_500_000);
  });

  test("forms that never end", async () => {
    const sockets = Array.from({ length: 60 }, () => connect({ port: Number(port), host: "127.0.0.1" }));
    try {
      await Promise.all(
        sockets.map(
          (socket) =>
            new Promise((resolve, reject) => {
              socket.on("error", reject);
              socket.write(
                `POST /sign-in HTTP/1.1\r\nHost: x\r\nOrigin: ${origin}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nemail=`,
                resolve,
              );
            }),
        ),
      );
      expect((await newVisitor().get("/")).status).toBe(200);
      expect((await newVisitor().post("/preferences", { theme: "dark" })).status).toBe(303);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

  test.each(["PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"])("the method %s", async (method) => {
    expect((await request(method, "/", { headers: { origin } })).status).toBe(404);
  });

  test.each(["/%", "/%E0%A4%A", "/o/%00", "/o/%ff", "/?q=%00", "/?q=%E0%A4%A", "/submissions/%00/vote", "/..%2f..%2f"])(
    "the address %s",
    async (path) => {
      for (const method of ["GET", "POST"]) {
        const { status, headers } = await request(
          method,
          path,
          method === "POST" ? { raw: "", headers: formHeaders } : {},
        );
        expect([path, status < 500]).toEqual([path, true]);
        // The gateway rejects some of them, in JSON.
        if (headers["content-type"]?.startsWith("text/html"))
          expect(headers["content-security-policy"], `${method} ${path}`).toBeDefined();
      }
    },
  );

  test("HEAD returns a page without its body", async () => {
    const { status, text, headers } = await request("HEAD", "/");
    expect([status, text]).toEqual([200, ""]);
    expect(headers["content-security-policy"]).toBeDefined();
  });
});
