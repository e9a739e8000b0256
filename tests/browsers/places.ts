import type { Stack } from "../../local/stack.ts";
import { adminAreas } from "../web/admin/areas.ts";
import type { Place } from "./demo.ts";

/** Every page, each with the most content. */
export async function placesOf(stack: Pick<Stack, "base_url" | "db_url" | "demo">): Promise<Place[]> {
  const { base_url, demo } = stack;
  const headers = { Authorization: `Bearer ${demo?.api_keys.full}` };
  const first = async (path: string): Promise<string> => {
    const response = await fetch(`${base_url}/api${path}`, { headers });
    const { data } = (await response.json()) as { data: { id: string }[] };
    return data[0]?.id ?? "";
  };
  const [submission, survey] = await Promise.all([
    first("/submissions?sort=comments&order=desc&limit=1"),
    first("/surveys?status=published&limit=1"),
  ]);
  return [
    { name: "board", path: "/" },
    { name: "board, signed in", path: "/", as: "alice" },
    { name: "board, searched", path: "/?q=offline&status=in_progress" },
    { name: "board, none found", path: "/?q=zeppelin" },
    { name: "submission", path: `/submissions/${submission}` },
    { name: "submission, by its user", path: `/submissions/${submission}`, as: "alice" },
    { name: "submission, by an owner", path: `/submissions/${submission}`, as: "owner" },
    { name: "submission, edited", path: `/submissions/${submission}/edit`, as: "owner" },
    { name: "submission, deleted", path: `/submissions/${submission}/delete`, as: "owner" },
    { name: "submission, merged", path: `/submissions/${submission}/merge`, as: "owner" },
    { name: "voters", path: `/submissions/${submission}/voters`, as: "owner" },
    { name: "new submission", path: "/new", as: "alice" },
    { name: "new submission, signed out", path: "/new" },
    { name: "roadmap", path: "/roadmap" },
    { name: "roadmap, by an owner", path: "/roadmap", as: "owner" },
    { name: "survey", path: `/surveys/${survey}` },
    { name: "survey, signed in", path: `/surveys/${survey}`, as: "bob" },
    { name: "board, embedded", path: `/embed/o/${demo?.organization.slug}` },
    { name: "survey, embedded", path: `/embed/surveys/${survey}` },
    { name: "news", path: "/news", as: "alice" },
    { name: "news, embedded", path: `/embed/o/${demo?.organization.slug}/news` },
    { name: "new submission, embedded", path: `/embed/o/${demo?.organization.slug}/new` },
    { name: "sign in", path: "/sign-in" },
    { name: "sign up", path: "/sign-up" },
    { name: "reset", path: "/reset" },
    { name: "me", path: "/me", as: "alice" },
    { name: "notifications", path: "/notifications", as: "alice" },
    { name: "settings", path: "/settings", as: "alice" },
    { name: "settings of mail", path: "/settings/mail", as: "alice" },
    { name: "second factor", path: "/sign-in/factor" },
    { name: "second factors", path: "/settings/factor", as: "alice" },
    { name: "erasure", path: "/settings/erase", as: "alice" },
    ...(await Promise.all(adminAreas.map(async ({ places }) => (await places?.(first, stack)) ?? []))).flat(),
    { name: "not found", path: "/nowhere" },
  ];
}
