import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { stack } from "../stack.ts";

// The bytes that a visitor's phone loads for the board of the demo data, after gzip.

const kilobyte = 1000;
const textOf = async (path: string) => (await fetch(stack.site_url + path)).text();
const gzipped = (text: string) => gzipSync(text).length;

/** The script of the page and its imports, without those for realtime, which load when the page is usable. */
async function scriptsOf(path: string, scripts = new Map<string, string>()): Promise<Map<string, string>> {
  if (scripts.has(path)) return scripts;
  const text = await textOf(path);
  scripts.set(path, text);
  for (const [, name] of text.matchAll(/["'`]\.\/([\w.-]+\.js)["'`]/g))
    if (name && !name.startsWith("realtime-") && !name.startsWith("live-")) await scriptsOf(`/assets/${name}`, scripts);
  return scripts;
}

test("the board's HTML is at most 30 KB", async () => {
  expect(gzipped(await textOf("/"))).toBeLessThanOrEqual(30 * kilobyte);
});

test("the scripts are at most 45 KB without realtime", async () => {
  const [, entry = ""] = /<script type="module" src="([^"]+)"/.exec(await textOf("/")) ?? [];
  const scripts = await scriptsOf(entry);
  expect(scripts.size).toBeGreaterThan(2);
  const bytes = [...scripts.values()].reduce((sum, text) => sum + gzipped(text), 0);
  expect(bytes).toBeLessThanOrEqual(45 * kilobyte);
});

test("the loader of the widget is at most 6 KB, and sent again only when it changed", async () => {
  const answer = await fetch(`${stack.site_url}/widget.js`);
  expect(gzipped(await answer.text())).toBeLessThanOrEqual(6 * kilobyte);
  expect(answer.headers.get("cache-control")).toContain("max-age=300");
  const etag = answer.headers.get("etag") ?? "";
  const again = await fetch(`${stack.site_url}/widget.js`, { headers: { "If-None-Match": `W/"x", ${etag}` } });
  expect([again.status, await again.text()]).toEqual([304, ""]);
});

test("the stylesheet is at most 15 KB", async () => {
  const [, path = ""] = /<link rel="stylesheet" href="(\/assets\/[^"]+)"/.exec(await textOf("/")) ?? [];
  expect(gzipped(await textOf(path))).toBeLessThanOrEqual(15 * kilobyte);
});

test("scripts, styles and the widget's loader are sent compressed, without compressing them again", async () => {
  const [, asset = ""] = /<link rel="stylesheet" href="(\/assets\/[^"]+)"/.exec(await textOf("/")) ?? [];
  for (const path of [asset, "/widget.js"]) {
    const answer = await fetch(stack.site_url + path);
    expect(answer.headers.get("content-encoding"), path).toBe("gzip");
    // A response that is compressed while it is sent has no Content-Length.
    expect(Number(answer.headers.get("content-length")), path).toBeGreaterThan(0);
  }
});

test("an If-None-Match of spaces costs as much as any other", async () => {
  const header = `"a${" ".repeat(60_000)}b"`;
  const startedAt = performance.now();
  for (let n = 0; n < 20; n++) {
    const answer = await fetch(`${stack.site_url}/widget.js`, { headers: { "If-None-Match": header } });
    expect([answer.status, (await answer.text()).length > 1_000]).toEqual([200, true]);
  }
  // A loaded machine needs far less; a quadratic pattern took a second and a half for each request.
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});
