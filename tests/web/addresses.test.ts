import { expect, test } from "vitest";
import { newVisitor } from "./pages.ts";

test.each(["/roadmap", "/o/acme/roadmap", "/embed/o/acme/news", "/sign-in"])(
  "%s is the same page with a slash at its end",
  async (path) => {
    const plain = await newVisitor().get(path);
    const { status, html } = await newVisitor().get(`${path}/`);
    expect(status).toBe(plain.status);
    expect(html.querySelector("title")?.text).toBe(plain.html.querySelector("title")?.text);
  },
);

test.each(["/roadmap//", "/%2F%2Fevil.example/", "/javascript:alert(1)/"])("%s is no page", async (path) => {
  expect((await newVisitor().get(path)).status).toBe(404);
});

test("a form is taken with a slash at the end of its address", async () => {
  expect((await newVisitor().post("/sign-in/", { email: "a" })).status).toBe(422);
});
