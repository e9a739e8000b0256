import { describe, expect, it } from "vitest";
import { submissionDetailAnswer } from "../../shared/submissions.ts";
import { sql } from "../stack.ts";
import { api, expectJson, getJson } from "./client.ts";
import { figure, newComment, newOrganization, newSubmission, newUser, type User } from "./world.ts";

let id: string;
const organization = await newOrganization();
const author = await newUser("Ada Author");
const member = await newUser("Mia Member", { organization, role: "member" });
const stranger = await newUser("Sam Stranger");
const [{ id: categoryId }] = await sql<[{ id: string }]>`
    insert into public.categories (organization_id, name, slug, color, translations)
    values (${organization.id}, 'Mobile', 'mobile', '#112233', ${sql.json({ de: "Handy", ja: "モバイル", "pt-BR": "Celular" })}) returning id`;
const tags = await sql<{ id: string }[]>`
    insert into public.tags (organization_id, name, slug, translations) values
      (${organization.id}, 'Speed', 'speed', ${sql.json({ de: "Tempo", fr: "Vitesse", ru: "Скорость" })}),
      (${organization.id}, 'Design', 'design', ${sql.json({ it: "Progettazione", es: "Diseño" })}) returning id`;
id = await newSubmission(organization, author, { title: "A dark theme", category_id: categoryId });
for (const tag of tags) {
  await sql`insert into public.submission_tags (organization_id, submission_id, tag_id) values (${organization.id}, ${id}, ${tag.id})`;
}
const commentId = await newComment(id, stranger, { body: "Yes please" });
await newComment(id, author, { body: "Told you", parent_id: commentId });
await newComment(id, member, { body: "We hear you" });

const detail = async (query = "", as?: User, language?: string) => {
  const answer = await api("GET", `/api/submissions/${id}${query}`, {
    as,
    ...(language && { headers: { "accept-language": language } }),
  });
  return { ...expectJson(answer, 200, submissionDetailAnswer), headers: answer.headers };
};

describe("the detail of a submission", () => {
  it("returns only the ids of related rows without expand", async () => {
    const { data } = await detail();
    expect(data).toMatchObject({
      id,
      title: "A dark theme",
      type: "idea",
      status: "open",
      vote_count: 1,
      comment_count: 3,
      author_id: author.id,
      category_id: categoryId,
      tags: ["design", "speed"],
      tracker_issue_url: null,
      merged_into_id: null,
    });
    expect(Object.keys(data).sort()).toEqual([
      "author_id",
      "category_id",
      "comment_count",
      "created_at",
      "description",
      "id",
      "is_following",
      "merged_into_id",
      "moderation_state",
      "status",
      "tags",
      "title",
      "tracker_issue_url",
      "type",
      "updated_at",
      "user_vote",
      "vote_count",
    ]);
  });

  const replaced = {
    author: { shown: "author", gone: "author_id" },
    category: { shown: "category", gone: "category_id" },
    tags: { shown: "tags", gone: undefined },
    comments: { shown: "comments", gone: undefined },
  } as const;
  const names = ["author", "category", "tags", "comments"] as const;
  const subsets = Array.from({ length: 16 }, (_, bits) => names.filter((_, index) => bits & (1 << index)));

  it.each(subsets.slice(1).map((subset) => [subset.join(",")]))(
    "with expand=%s includes these and no others",
    async (expand) => {
      const { data } = await detail(`?expand=${expand}`);
      for (const name of names) {
        const asked = expand.split(",").includes(name);
        const { shown, gone: deleted } = replaced[name];
        if (deleted) expect(deleted in data, deleted).toBe(!asked);
        if (name === "tags") expect(data.tags.every((tag) => (typeof tag === "string") !== asked)).toBe(true);
        else expect(shown in data, shown).toBe(asked);
      }
    },
  );

  it("expands the author to name, avatar and badge", async () => {
    const { data } = await detail("?expand=author");
    expect(data.author).toEqual({
      id: author.id,
      name: "Ada Author",
      avatar: figure(author.id),
      is_team_member: false,
    });
  });

  it("names a deleted author Anonymous, and keeps their content", async () => {
    const leaver = await newUser("Lee Leaver");
    const left = await newSubmission(organization, leaver, { title: "What was left" });
    await newComment(left, leaver, { body: "Bye" });
    await sql`delete from auth.users where id = ${leaver.id}`;
    const answer = await api("GET", `/api/submissions/${left}?expand=author,comments`);
    const { data } = expectJson(answer, 200, submissionDetailAnswer);
    expect(data).toMatchObject({ title: "What was left", vote_count: 1, comment_count: 1 });
    expect([data.author?.name, data.comments?.[0]?.author.name]).toEqual(["Anonymous", "Anonymous"]);
    expect(answer.text).not.toContain("Leaver");
  });

  it("shows the badge of an author on the team", async () => {
    const official = await newSubmission(organization, member);
    const { data } = await getJson(`/api/submissions/${official}?expand=author`, submissionDetailAnswer);
    expect(data.author).toEqual({ id: member.id, name: "Mia Member", avatar: figure(member.id), is_team_member: true });
  });

  it("returns an expanded category as null when there is none", async () => {
    const bare = await newSubmission(organization, author);
    const { data } = await getJson(`/api/submissions/${bare}?expand=category,tags,comments`, submissionDetailAnswer);
    expect(data).toMatchObject({ category: null, tags: [], comments: [] });
  });

  it("expands top-level comments, official ones first", async () => {
    const { data } = await detail("?expand=comments");
    expect(data.comments?.map(({ body, is_official, reply_count }) => [body, is_official, reply_count])).toEqual([
      ["We hear you", true, 0],
      ["Yes please", false, 1],
    ]);
  });

  it("expands the first 50 comments", async () => {
    const busy = await newSubmission(organization, author);
    await sql`insert into public.comments (submission_id, author_id, body, created_at)
      select ${busy}, ${author.id}, 'Comment ' || n, now() - interval '1 hour' + n * interval '1 second' from generate_series(1, 51) n`;
    const { data } = await getJson(`/api/submissions/${busy}?expand=comments`, submissionDetailAnswer);
    expect(data.comments?.map(({ body }) => body)).toEqual(Array.from({ length: 50 }, (_, n) => `Comment ${n + 1}`));
    expect(data.comment_count).toBe(51);
  });

  it("accepts blanks around the names of expand", async () => {
    const { data } = await detail("?expand=author,%20tags");
    expect(data.author?.id).toBe(author.id);
  });
});

describe("names in the language of Accept-Language", () => {
  it.each([
    ["en", "Mobile", ["Design", "Speed"]],
    ["es", "Mobile", ["Diseño", "Speed"]],
    ["fr", "Mobile", ["Design", "Vitesse"]],
    ["de", "Handy", ["Design", "Tempo"]],
    ["ru", "Mobile", ["Design", "Скорость"]],
    ["pt-BR", "Celular", ["Design", "Speed"]],
    ["ja", "モバイル", ["Design", "Speed"]],
    ["it", "Mobile", ["Progettazione", "Speed"]],
  ])("%s, English where no translation exists", async (language, category, tags) => {
    const { data, headers } = await detail("?expand=category,tags", undefined, language);
    expect(data.category).toEqual({ id: categoryId, name: category, slug: "mobile", color: "#112233" });
    expect(data.tags).toEqual([
      { name: tags[0], slug: "design" },
      { name: tags[1], slug: "speed" },
    ]);
    expect(headers["content-language"]).toBe(language);
    expect(headers.vary).toMatch(/accept-language/i);
  });

  it.each([
    ["de-AT,de;q=0.9", "de"],
    ["pt", "pt-BR"],
    ["zh,ja;q=0.5", "ja"],
    ["zh", "en"],
    ["en;q=0.1,fr;q=0.9", "fr"],
    ["%%%", "en"],
    ["*", "en"],
  ])("%s is returned in %s", async (header, locale) => {
    expect((await detail("", undefined, header)).headers["content-language"]).toBe(locale);
  });
});

describe("fields relative to the caller", () => {
  it("are empty for an anonymous caller", async () => {
    expect((await detail()).data).toMatchObject({ is_following: false, user_vote: null });
  });

  it("include the author's own vote and follow", async () => {
    const { data } = await detail("", author);
    expect(data.is_following).toBe(true);
    expect(data.user_vote).toEqual({ created_at: data.created_at });
  });

  it("clear the vote when it is removed, and keep the follow", async () => {
    const as = await newUser();
    expect((await detail("", as)).data).toMatchObject({ is_following: false, user_vote: null });
    await api("POST", `/api/submissions/${id}/vote`, { as });
    const voted = (await detail("", as)).data;
    expect(voted.is_following).toBe(true);
    expect(voted.user_vote).not.toBeNull();
    await api("DELETE", `/api/submissions/${id}/vote`, { as });
    expect((await detail("", as)).data).toMatchObject({ is_following: true, user_vote: null });
  });
});

describe("an unknown submission", () => {
  it("an id in upper case is the same id", async () => {
    await getJson(`/api/submissions/${id.toUpperCase()}`, submissionDetailAnswer);
  });
});
