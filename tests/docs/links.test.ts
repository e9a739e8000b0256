import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { root } from "../../local/postgres/database-server.ts";
import { anchorsOf, pages, tableUnder, textOf } from "./markdown.ts";

const { scripts } = JSON.parse(readFileSync(`${root}/package.json`, "utf8")) as { scripts: Record<string, string> };

describe.each(pages)("%s", (page) => {
  const text = textOf(page);

  test("has a target for every relative link and anchor", () => {
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
    const relative = links.filter((link) => !/^[a-z]+:/.test(link));
    const broken = relative.filter((link) => {
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : normalize(join(dirname(page), path));
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && !anchorsOf(textOf(target)).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  test("contains no unknown npm script", () => {
    const named = [...text.matchAll(/\bnpm (?:run (?:--silent )?([a-z:]+)|(start|test)\b)/g)].map(
      ([, run, short]) => run ?? short ?? "",
    );
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });

  test("contains no path of a missing file", () => {
    const named = [
      ...text.matchAll(/`((?:supabase|functions|shared|packages|local|tests|bench|docs)\/[\w./-]*)`/g),
    ].map(([, path = ""]) => path);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test("contains no details of the machine it was written on", () => {
    expect(text).not.toMatch(/\/(?:work|root|home|tmp)\//);
  });
});

test("the map of the tree lists every folder", () => {
  const shown = tableUnder("README.md", "Map of the tree").map(([path = ""]) => path);
  for (const folder of ["supabase", "functions", "shared", "packages", "local", "tests", "bench", "docs"]) {
    expect(
      shown.some((path) => path.startsWith(`\`${folder}/`)),
      folder,
    ).toBe(true);
  }
});

test("the index of decisions lists each one once, by its title", () => {
  const files = readdirSync(join(root, "docs/decisions")).filter((file) => file !== "README.md");
  const titled = files.map((file) => {
    const [, number, title] = /^# (\d+): (.*)/.exec(textOf(`docs/decisions/${file}`)) ?? [];
    return `- [${number}](${file}) ${title}`;
  });
  const listed = textOf("docs/decisions/README.md")
    .split("\n")
    .filter((line) => line.startsWith("- "));
  expect(listed.toSorted()).toEqual(titled.toSorted());
});

test("the README contains one command that runs the tests", () => {
  expect(textOf("README.md")).toContain("\n## Test\n\n```sh\nnpm ci && npm test\n```\n");
});
