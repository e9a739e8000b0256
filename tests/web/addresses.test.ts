import { expect, test } from "vitest";
import { stack } from "../stack.ts";
import { newVisitor } from "./pages.ts";

const visitor = newVisitor();

test.each([
  ["/roadmap/", "/roadmap"],
  ["/roadmap/?status=planned&q=//evil.example", "/roadmap?status=planned&q=//evil.example"],
  ["/o/acme/roadmap/", "/o/acme/roadmap"],
  ["/embed/o/acme/news/", "/embed/o/acme/news"],
  ["/submissions/not-an-id/", "/submissions/not-an-id"],
  ["//evil.example/", "//evil.example"],
  ["///evil.example/", "///evil.example"],
  ["/%2F%2Fevil.example/", "/%2F%2Fevil.example"],
  ["/javascript:alert(1)/", "/javascript:alert(1)"],
  ["/http://evil.example/", "/http://evil.example"],
])("%s leads on to the address of the page without the slash, on this host", async (path, expected) => {
  for (const base of [stack.site_url, `${stack.supabase_url}/functions/v1/web`]) {
    const { status, location = "" } = await newVisitor([], base).get(path);
    expect(status).toBe(308);
    expect(new URL(location, base + path).href).toBe(base + expected);
  }
});

test.each(["/", "/?status=planned", "/health/"])("%s is shown", async (path) => {
  expect((await fetch(stack.site_url + path, { redirect: "manual" })).status).toBe(200);
});

test("a form is taken with a slash at its end, and two slashes are no page", async () => {
  expect((await visitor.post("/sign-in/", { email: "a" })).status).not.toBe(308);
  expect((await visitor.get("/roadmap//")).status).toBe(404);
});
