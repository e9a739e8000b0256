import { beforeAll, describe, expect, test } from "vitest";
import { newSubmission } from "../api/world.ts";
import { type Board, newBoard, shown } from "./board.ts";
import { type Person, signedIn } from "./pages.ts";

// The response of each page and form to each caller. Rows are pages and forms, columns are callers.

const callers = ["visitor", "user", "author", "member", "admin", "other tenant's owner"] as const;
type AuthoredBoard = Board & { people: { author: Person } };
const boards = {} as Record<"public" | "private", AuthoredBoard>;

async function newAuthoredBoard(visibility: "public" | "private"): Promise<AuthoredBoard> {
  const board = await newBoard(visibility);
  // Only the team can write on a private board.
  const team = visibility === "private" ? ({ ...board, role: "member" } as const) : undefined;
  return { ...board, people: { ...board.people, author: await signedIn(team) } };
}

beforeAll(async () => {
  [boards.public, boards.private] = [await newAuthoredBoard("public"), await newAuthoredBoard("private")];
});

// "in": a 303 redirect to /sign-in.
const [all, signed] = ["200 200 200 200 200 200", "in 200 200 200 200 200"];
const pages: [path: string, onPublic: string, onPrivate: string][] = [
  ["/", all, all],
  ["/o/:organization", all, "404 404 200 200 200 404"],
  ["/roadmap", all, all],
  ["/o/:organization/roadmap", all, "404 404 200 200 200 404"],
  ["/o/:organization/feed.xml", all, "404 404 404 404 404 404"],
  ["/news", all, all],
  ["/o/:organization/news", all, "404 404 200 200 200 404"],
  ["/embed/o/:organization/news", all, "404 404 200 200 200 404"],
  ["/embed/o/:organization/new", all, "404 404 200 200 200 404"],
  ["/sign-in", all, all],
  ["/sign-up", all, all],
  ["/sign-in/email", all, all],
  ["/sign-in/code", all, all],
  ["/reset", all, all],
  ["/reset/code", all, all],
  ["/reset/password", signed, signed],
  ["/auth/confirm", all, all],
  ["/auth/callback?code=x", "409 409 409 409 409 409", "409 409 409 409 409 409"],
  // These pages treat every caller as anonymous.
  ["/o/:organization/sso", "409 409 409 409 409 409", "404 404 404 404 404 404"],
  ["/o/:organization/sso?token=x", "303 303 303 303 303 303", "404 404 404 404 404 404"],
  ["/me", signed, signed],
  ["/notifications", signed, signed],
  ["/invite?token=unknown", signed, signed],
  ["/settings", signed, signed],
  ["/settings/data.json", signed, signed],
  ["/sign-in/factor", all, all],
  ["/settings/factor", signed, signed],
  ["/settings/factor/code", signed, signed],
  ["/settings/erase", signed, signed],
  ["/o/:organization/settings/mail", signed, "in 404 200 200 200 404"],
  ["/mail?token=x", "404 404 404 404 404 404", "404 404 404 404 404 404"],
  ["/claim?token=x", "404 404 404 404 404 404", "404 404 404 404 404 404"],
  ["/unsubscribe?token=x", "404 404 404 404 404 404", "404 404 404 404 404 404"],
  ["/goodbye", all, all],
  ["/nowhere", "404 404 404 404 404 404", "404 404 404 404 404 404"],
];

const done = "in 303 303 303 303 303";
const forms: [path: string, fields: Record<string, string>, onPublic: string, onPrivate: string][] = [
  ["/submissions/:id/vote", {}, done, "in 404 303 303 303 404"],
  ["/submissions/:id/vote", { _method: "delete" }, done, "in 404 303 303 303 404"],
  ["/submissions/:id/follow", {}, done, "in 404 303 303 303 404"],
  ["/embed/submissions/:id/vote", {}, done, "in 404 303 303 303 404"],
  ["/notifications/read", {}, done, done],
  ["/settings", { name: "A name", avatar_url: "" }, done, done],
  ["/invite", { token: "unknown" }, "in 404 404 404 404 404", "in 404 404 404 404 404"],
  ["/settings/mail", { "choices.status": "daily" }, done, done],
  ["/mail?token=x", { stopped: "true" }, "404 404 404 404 404 404", "404 404 404 404 404 404"],
  ["/claim?token=x", {}, "in 404 404 404 404 404", "in 404 404 404 404 404"],
  // The embedded auth offers no second factors.
  ["/settings/factor", { name: "Phone" }, "in 422 422 422 422 422", "in 422 422 422 422 422"],
  ["/settings/erase", {}, "in 422 422 422 422 422", "in 422 422 422 422 422"],
  ["/reset/password", { password: "short" }, "in 422 422 422 422 422", "in 422 422 422 422 422"],
  ["/preferences", { theme: "dark" }, "303 303 303 303 303 303", "303 303 303 303 303 303"],
  ["/sign-in", {}, "422 422 422 422 422 422", "422 422 422 422 422 422"],
];

describe.each(["public", "private"] as const)("on a %s board", (visibility) => {
  const expected = (onPublic: string, onPrivate: string) => (visibility === "public" ? onPublic : onPrivate).split(" ");

  test.each(pages)("GET %s responds to each caller as the table specifies", async (path, ...statuses) => {
    const { organization, people } = boards[visibility];
    const at = path.replace(":organization", organization.slug);
    const received = await Promise.all(callers.map(async (caller) => shown(await people[caller].get(at))));
    expect(received).toEqual(expected(...(statuses as [string, string])));
  });

  test.each(forms)("POST %s %j responds to each caller as the table specifies", async (path, fields, ...statuses) => {
    const { organization, people } = boards[visibility];
    const received: string[] = [];
    for (const caller of callers) {
      const at = path.replace(":id", await newSubmission(organization, { id: people.author.userId }));
      received.push(shown(await people[caller].post(at, fields)));
    }
    expect(received).toEqual(expected(...(statuses as [string, string])));
  });

  test.each(forms)("POST %s %j from another site is rejected for every caller", async (path, fields) => {
    const { organization, people } = boards[visibility];
    const at = path.replace(":id", await newSubmission(organization, { id: people.author.userId }));
    for (const caller of callers) {
      const answer = await people[caller].post(at, fields, { origin: "https://evil.example" });
      // Other errors take precedence over signing in.
      expect(caller === "visitor" ? ["403", "in"] : ["403"], caller).toContain(shown(answer));
    }
  });
});
