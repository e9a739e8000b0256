import { expect, test } from "vitest";
import { eventAliases, eventNames, events } from "../../shared/events.ts";
import { textOf } from "../docs/markdown.ts";

const page = textOf("docs/webhooks.md");
const [, section = ""] = /^## Events\n([\s\S]*?)^## /m.exec(page) ?? [];
const examples = new Map(
  [...section.matchAll(/^### (\S+)\n[\s\S]*?```json\n([\s\S]*?)```/gm)].map(([, name = "", json = ""]) => [
    name,
    JSON.parse(json) as unknown,
  ]),
);

test("docs/webhooks.md has every event, and no other", () => {
  expect([...examples.keys()]).toEqual(eventNames);
});

test.each(eventNames)("its example of %s is what the schema says, whole", (name) => {
  const example = examples.get(name);
  expect(events[name].strict().parse(example)).toEqual(example);
});

test("it tells the other names of events", () => {
  for (const name of Object.keys(eventAliases)) expect(page).toContain(`\`${name}\``);
});
