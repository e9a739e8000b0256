import type { HTMLElement } from "node-html-parser";
import { expect, test } from "vitest";
import type { DemoUser } from "../browsers/demo.ts";
import { placesOf } from "../browsers/places.ts";
import { stack } from "../stack.ts";
import { newVisitor, type Visitor } from "./pages.ts";

// What the W3C's validator checks of forms and times, on every page of the demo data.

const text = ["text", "search", "url", "tel", "email", "password"];
const dates = ["date", "datetime-local"];

/** The types of input that take an attribute. */
const takenBy: Record<string, string[]> = {
  required: [...text, ...dates, "number", "checkbox", "radio", "file"],
  minlength: text,
  maxlength: text,
  pattern: text,
  placeholder: [...text, "number"],
  readonly: [...text, ...dates, "number"],
  min: [...dates, "number", "range"],
  max: [...dates, "number", "range"],
  checked: ["checkbox", "radio"],
  accept: ["file"],
  multiple: ["email", "file"],
};

const visitors = new Map<DemoUser | undefined, Promise<Visitor>>();

async function signIn(user: DemoUser | undefined): Promise<Visitor> {
  const visitor = newVisitor();
  const { demo } = stack;
  if (user && demo) await visitor.post("/sign-in", { email: demo.users[user], password: demo.password });
  return visitor;
}

function visitorOf(user: DemoUser | undefined): Promise<Visitor> {
  const visitor = visitors.get(user) ?? signIn(user);
  visitors.set(user, visitor);
  return visitor;
}

function problemsOf(html: HTMLElement): string[] {
  const inputs = html.querySelectorAll("input").filter((input) => {
    const type = input.getAttribute("type") ?? "text";
    return Object.entries(takenBy).some(([name, types]) => input.hasAttribute(name) && !types.includes(type));
  });
  const times = html
    .querySelectorAll("time")
    .filter((time) => !/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z)?$/.test(time.getAttribute("datetime") ?? ""));
  return [...inputs, ...times].map(String);
}

test.each(await placesOf(stack))("$name has valid fields and times", async ({ path, as }) => {
  const visitor = await visitorOf(as);
  const first = await visitor.get(path);
  const { html, status } = first.status === 301 ? await visitor.get(first.location ?? "") : first;
  expect([200, 404]).toContain(status);
  expect(problemsOf(html)).toEqual([]);
});
