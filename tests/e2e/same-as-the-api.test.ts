import { describe, expect, it } from "vitest";
import { api, sql } from "../stack.ts";
import { counts, done, idea, newcomer, say, submit } from "./web-app.ts";

const [ada, ben, cleo] = await Promise.all([newcomer("Ada"), newcomer("Ben"), newcomer("Cleo")]);

type Detail = { data: Record<string, unknown> };

/** The rows after an action, without ids, times and other generated values. */
async function traces(id: string) {
  const [row] = await sql`select vote_count, comment_count, status from submissions where id = ${id}`;
  const votes = await sql`select user_id from votes where submission_id = ${id} order by user_id`;
  const follows = await sql`select user_id, reason from follows where submission_id = ${id} order by user_id`;
  const notifications =
    await sql`select user_id, type from notifications where submission_id = ${id} order by user_id, type`;
  const events = await sql`select type from private.outbox where subject_id = ${id} order by xid, id`;
  const comments =
    await sql`select author_id, body, is_official, reply_count from comments where submission_id = ${id} order by created_at, id`;
  return { row, votes, follows, notifications, events, comments };
}

/** Each action twice: by a web app, and by a client of the API. */
const acts: {
  name: string;
  direct: (id: string) => Promise<unknown>;
  throughApi: (id: string) => Promise<unknown>;
}[] = [
  {
    name: "a vote",
    direct: async (id) => ben.app.rpc("vote", { submission_id: id }),
    throughApi: (id) => api(`/api/submissions/${id}/vote`, { method: "POST", token: ben.token }),
  },
  {
    name: "deleting a vote",
    direct: async (id) => {
      await ben.app.rpc("vote", { submission_id: id });
      await ben.app.rpc("unvote", { submission_id: id });
    },
    throughApi: async (id) => {
      await api(`/api/submissions/${id}/vote`, { method: "POST", token: ben.token });
      await api(`/api/submissions/${id}/vote`, { method: "DELETE", token: ben.token });
    },
  },
  {
    name: "a comment and a reply",
    direct: async (id) => {
      const first = await say(ben, id, null, "First.");
      await say(cleo, id, first.id, "Second.");
    },
    throughApi: async (id) => {
      const path = `/api/submissions/${id}/comments`;
      const first = await api<Detail>(path, { token: ben.token, body: { body: "First." } });
      await api(path, { token: cleo.token, body: { body: "Second.", parent_id: first.body.data.id } });
    },
  },
  {
    name: "a deleted thread",
    direct: async (id) => {
      const first = await say(ben, id, null, "First.");
      await say(cleo, id, first.id, "Second.");
      await ben.app.rpc("delete_comment", { id: first.id });
    },
    throughApi: async (id) => {
      const path = `/api/submissions/${id}/comments`;
      const first = await api<Detail>(path, { token: ben.token, body: { body: "First." } });
      await api(path, { token: cleo.token, body: { body: "Second.", parent_id: first.body.data.id } });
      await api(`/api/comments/${first.body.data.id}`, { method: "DELETE", token: ben.token });
    },
  },
  {
    name: "a follow ended and begun",
    direct: async (id) => {
      await ada.app.rpc("unfollow", { submission_id: id });
      await cleo.app.rpc("follow", { submission_id: id });
    },
    throughApi: async (id) => {
      await api(`/api/submissions/${id}/follow`, { method: "DELETE", token: ada.token });
      await api(`/api/submissions/${id}/follow`, { method: "POST", token: cleo.token });
    },
  },
  {
    name: "an edit",
    direct: async (id) =>
      ada.app.rpc("update_submission", { id, changes: { title: "A title that is edited" } }),
    throughApi: (id) =>
      api(`/api/submissions/${id}`, {
        method: "PATCH",
        token: ada.token,
        body: { title: "A title that is edited" },
      }),
  },
];

describe("supabase-js and the API write the same rows", () => {
  it.each(acts)("$name", async ({ direct, throughApi }) => {
    const [one, other] = [await submit(ada), await submit(ada)];
    await direct(one.id);
    await throughApi(other.id);
    const here = await traces(one.id);
    expect(here).toEqual(await traces(other.id));
    expect(here.events.length).toBeGreaterThan(0);
  });

  it("a submission", async () => {
    const direct = await submit(ada);
    const created = await api<{ data: { id: string; vote_count: number } }>("/api/submissions", {
      token: ada.token,
      body: idea(),
    });
    expect(created.status).toBe(201);
    expect(created.body.data.vote_count).toBe(direct.vote_count);
    expect(await traces(direct.id)).toEqual(await traces(created.body.data.id));
  });
});

describe("each interface reads the rows that the other wrote", () => {
  it("detail, follow and vote of the caller", async () => {
    const { id } = await submit(ada);
    await ben.app.rpc("vote", { submission_id: id });
    const { body } = await api<Detail>(`/api/submissions/${id}?expand=author,comments`, { token: ben.token });
    expect(body.data).toMatchObject({
      vote_count: 2,
      is_following: true,
      user_vote: { created_at: expect.any(String) },
      author: { id: ada.id },
    });
    const own = await api<{ data: { submission_id: string }[] }>("/api/me/votes", { token: ben.token });
    expect(own.body.data.map((vote) => vote.submission_id)).toContain(id);
  });

  it("notifications and their read state", async () => {
    const author = await newcomer("Author");
    const { id } = await submit(author);
    await api(`/api/submissions/${id}/vote`, { method: "POST", token: ben.token });
    await say(ben, id);
    const list = await api<{ data: { type: string }[]; meta: { total: number } }>(
      "/api/me/notifications?unread=true",
      { token: author.token },
    );
    expect(list.body.meta.total).toBe(2);
    expect(done(await author.app.from("notifications").select("id").is("read_at", null))).toHaveLength(2);
    const [vote] = done(await author.app.from("notifications").select("id").eq("type", "vote"));
    done(await author.app.rpc("mark_notifications_read", { ids: [vote?.id] }));
    const rest = await api<{ data: { type: string }[] }>("/api/me/notifications?unread=true", {
      token: author.token,
    });
    expect(rest.body.data.map((row) => row.type)).toEqual(["comment"]);
  });

  it("a name changed in the app is the author's name everywhere", async () => {
    const author = await newcomer("Old Name");
    const { id } = await submit(author);
    done(await author.app.rpc("update_profile", { changes: { name: "New Name" } }));
    const { body } = await api<Detail>(`/api/submissions/${id}?expand=author`);
    expect(body.data.author).toMatchObject({ name: "New Name" });
  });
});

describe("the same rules reject", () => {
  it("a second vote, which changes nothing, by both interfaces", async () => {
    const { id } = await submit(ada);
    await api(`/api/submissions/${id}/vote`, { method: "POST", token: ben.token });
    await ben.app.rpc("vote", { submission_id: id });
    const repeated = await api(`/api/submissions/${id}/vote`, { method: "POST", token: ben.token });
    expect(repeated.status).toBe(200);
    expect(await counts(id)).toMatchObject({ vote_count: 2 });
  });

  it("a comment edit after the edit window", async () => {
    const { id } = await submit(ada);
    const comment = await say(ben, id);
    await sql`update comments set created_at = now() - private.comment_edit_window() - interval '1 second' where id = ${comment.id}`;
    const direct = await ben.app.rpc("update_comment", { id: comment.id, body: "Late." });
    const throughApi = await api<{ error: { message: string } }>(`/api/comments/${comment.id}`, {
      method: "PATCH",
      token: ben.token,
      body: { body: "Late." },
    });
    expect(throughApi.status).toBe(403);
    expect(direct.error?.message).toBe(throughApi.body.error.message);
  });

  it("more than the plan allows", async () => {
    const [organization] = await sql<{ id: string }[]>`
      insert into organizations (slug, name, max_submissions) values (${`plan-${Date.now()}`}, 'Small plan', 1) returning id`;
    const organization_id = organization?.id ?? "";
    const insert = () => ada.app.rpc("create_submission", { ...idea(), organization_id });
    expect((await insert()).error).toBeNull();
    const direct = await insert();
    const throughApi = await api<{ error: { message: string } }>("/api/submissions", {
      token: ada.token,
      body: idea(),
      headers: { "x-organization": organization_id },
    });
    expect(throughApi.status).toBe(402);
    expect(direct.error).toMatchObject({ code: "FB402", message: throughApi.body.error.message });
    expect(await sql`select 1 from submissions where organization_id = ${organization_id}`).toHaveLength(1);
  });
});
