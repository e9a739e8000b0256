import { expect, test } from "vitest";
import { eventAliases, eventNames, events } from "../../shared/events.ts";
import { tableUnder, textOf } from "../docs/markdown.ts";
import { importFunction } from "../import-function.ts";

const page = textOf("docs/webhooks.md");
const [, section = ""] = /^## Events\n([\s\S]*?)^## /m.exec(page) ?? [];
const examples = new Map(
  [...section.matchAll(/^### (\S+)\n[\s\S]*?```json\n([\s\S]*?)```/gm)].map(([, name = "", json = ""]) => [
    name,
    JSON.parse(json) as unknown,
  ]),
);

test("docs/webhooks.md lists every event, and no other", () => {
  expect([...examples.keys()]).toEqual(eventNames);
});

test.each(eventNames)("its example of %s matches the schema, with every field", (name) => {
  const example = examples.get(name);
  expect(events[name].strict().parse(example)).toEqual(example);
});

test("it lists the aliases of events", () => {
  for (const name of Object.keys(eventAliases)) expect(page).toContain(`\`${name}\``);
});

test("docs/mcp.md lists the events that agents can subscribe to", async () => {
  const { offered } = await importFunction<{ offered: string[] }>(
    new URL("../../functions/mcp/subscriptions.ts", import.meta.url),
  );
  const documented = tableUnder("docs/mcp.md", "Subscriptions").flatMap(([names = ""]) =>
    names.replaceAll("`", "").split(", "),
  );
  expect(documented.toSorted()).toEqual(offered.toSorted());
});
