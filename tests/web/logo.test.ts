import { createHash, randomUUID } from "node:crypto";
import { mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parse } from "node-html-parser";
import { beforeAll, expect, test } from "vitest";
import { makeTemporaryFolder } from "../../local/folders/temporary-folder.ts";
import { backup, restore } from "../../local/operator/backup.ts";
import { startStack } from "../../local/stack.ts";
import { only } from "../api/world.ts";
import { ownStack, type Person } from "../own-stack.ts";
import { until } from "../until.ts";
import { newVisitor, type Visitor } from "./pages.ts";

// Uploaded logos, on a separate stack because of their files.

const own = await ownStack({ parts: ["auth", "web"] });
let admin: Person;
let owner: Visitor;

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
/** File headers that contain the given image size. */
const heads: Record<string, (width: number, height: number) => Buffer> = {
  png: (width, height) => {
    const head = Buffer.from(png);
    head.writeUInt32BE(width, 16);
    head.writeUInt32BE(height, 20);
    return head;
  },
  jpg: (width, height) => {
    const head = Buffer.from("ffd8ffe000104a46494600010100000100010000ffffc000110800000000030122000211010311ff", "hex");
    head.writeUInt16BE(height, 26);
    head.writeUInt16BE(width, 28);
    return head;
  },
  "webp, lossless": (width, height) => {
    const head = Buffer.from(`RIFF\x10\x00\x00\x00WEBPVP8L${"\0".repeat(14)}`, "latin1");
    head.writeUInt8(0x2f, 20);
    head.writeUInt32LE(((width - 1) & 0x3fff) | (((height - 1) & 0x3fff) << 14), 21);
    return head;
  },
  "webp, lossy": (width, height) => {
    const head = Buffer.from(`RIFF\x10\x00\x00\x00WEBPVP8 ${"\0".repeat(14)}`, "latin1");
    head.write("9d012a", 23, "hex");
    head.writeUInt16LE(width & 0x3fff, 26);
    head.writeUInt16LE(height & 0x3fff, 28);
    return head;
  },
  "webp, extended": (width, height) => {
    const head = Buffer.from(`RIFF\x10\x00\x00\x00WEBPVP8X${"\0".repeat(14)}`, "latin1");
    head.writeUIntLE(width - 1, 24, 3);
    head.writeUIntLE(height - 1, 27, 3);
    return head;
  },
};
const padded = (length: number) => Buffer.concat([png, Buffer.alloc(length - png.length)]);

beforeAll(async () => {
  admin = await own.person("admin");
  owner = newVisitor([], own.site_url);
  const email = "olive@logo.example";
  await owner.post("/sign-up", { name: "Olive", email, password: "correct horse battery" });
  await own.sql`
    insert into public.memberships (organization_id, user_id, role)
    select ${own.organization.id}, id, 'owner' from auth.users where email = ${email}`;
});

const files = () => readdir(join(own.folder, "storage", "logos", own.organization.id)).catch(() => [] as string[]);
const paths = async () => (await files()).map((name) => `/logos/${own.organization.id}/${name}`);
const logo = async () => {
  const [row] = await own.sql<{ logo_url: string | null }[]>`
    select logo_url from public.organizations where id = ${own.organization.id}`;
  return row?.logo_url ?? null;
};
const put = (body: Buffer, { token = admin.token, type = "image/png", id = own.organization.id } = {}) =>
  fetch(`${own.base_url}/api/organizations/${id}/logo`, {
    method: "PUT",
    body: new Uint8Array(body),
    headers: { Authorization: `Bearer ${token}`, "Content-Type": type },
  });
const sessionName = () => `sb-${new URL(own.supabase_url).hostname.split(".")[0]}-auth-token`;
const cookies = () =>
  ["", ".0", ".1"]
    .map((part) => `${sessionName()}${part}`)
    .filter((name) => owner.cookie(name) !== undefined)
    .map((name) => `${name}=${encodeURIComponent(owner.cookie(name) ?? "")}`)
    .join("; ");
async function upload(file: Buffer | undefined, name = "../../Our logo.svg", origin = own.site_url) {
  const form = new FormData();
  if (file) form.append("file", new Blob([new Uint8Array(file)]), name);
  else form.append("file", new Blob([]), "");
  const answer = await fetch(`${own.site_url}/admin/settings/brand/logo`, {
    method: "POST",
    body: form,
    redirect: "manual",
    headers: { Origin: origin, Cookie: cookies() },
  });
  return { status: answer.status, location: answer.headers.get("location"), html: parse(await answer.text()) };
}

test("a picture is uploaded on the page, shown, replaced and removed", async () => {
  expect((await owner.get("/admin/settings/brand")).html.querySelector("#file")).not.toBeNull();
  const done = await upload(png);
  expect(done).toMatchObject({ status: 303, location: "/admin/settings/brand?done=uploaded" });
  const first = await logo();
  expect(first).toMatch(new RegExp(`^/logos/${own.organization.id}/[0-9a-f]{32}\\.png$`));
  const page = await owner.get(done.location ?? "");
  expect(page.html.querySelector(".brand-logo")?.getAttribute("src")).toBe(first);
  expect(page.html.querySelector(".mark img")?.getAttribute("src")).toBe(first);
  expect(page.html.querySelector('meta[property="og:image"]')?.getAttribute("content")).toBe(own.site_url + first);
  const served = await fetch(own.site_url + first);
  expect(Buffer.from(await served.arrayBuffer())).toEqual(png);
  expect(Object.fromEntries(served.headers)).toMatchObject({
    "content-type": "image/png",
    "cache-control": "public, max-age=31536000, immutable",
    "x-content-type-options": "nosniff",
    "content-security-policy": expect.stringContaining("default-src 'none'; sandbox"),
  });

  await upload(padded(2000));
  const second = await logo();
  expect(second).not.toBe(first);
  await expect.poll(paths, { timeout: 20_000 }).toEqual([second]);
  expect((await fetch(own.site_url + first)).status).toBe(404);

  const { html } = await owner.get("/admin/settings/brand");
  expect(html.querySelector("[name=logo_url][type=url]")).toBeNull();
  await owner.submit(html.querySelector("details.settings-form form"));
  expect(await logo()).toBeNull();
  await until(async () => (await files()).length === 0);
  expect((await fetch(own.site_url + second)).status).toBe(404);
});

test.each([
  ["no file", undefined],
  ["an SVG", Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')],
  ["HTML", Buffer.from("<!doctype html><script>alert(1)</script>")],
  ["a GIF", Buffer.from("GIF89a\x01\x00\x01\x00", "latin1")],
  ["an empty file", Buffer.alloc(0)],
  ["a picture of 40,000 × 40,000 pixels", heads.png?.(40_000, 40_000)],
  ["a picture of more than 512 KiB", padded(512 * 1024 + 1)],
  ["a picture of more than the form may have", padded(2 * 1024 * 1024)],
])("the page refuses %s at its field and stores nothing", async (_what, file) => {
  const refused = await upload(file, "logo.png");
  expect(refused.status).toBe(422);
  expect(refused.html.querySelector("#file-problem")).not.toBeNull();
  expect(await logo()).toBeNull();
  expect(await files()).toEqual([]);
});

test("a form of another site uploads nothing", async () => {
  expect((await upload(png, "logo.png", "https://evil.example")).status).toBe(403);
  expect(await files()).toEqual([]);
});

test("the API takes each type by its first bytes, up to 512 KiB", async () => {
  const samples = {
    png: padded(512 * 1024),
    jpg: only(heads.jpg)(2048, 2048),
    webp: only(heads["webp, lossless"])(2048, 2048),
  };
  for (const [ending, bytes] of Object.entries(samples)) {
    // The content type from the client is ignored.
    const answer = await put(bytes, { type: "image/webp" });
    expect(answer.status).toBe(200);
    const { data } = (await answer.json()) as { data: { logo_url: string } };
    expect(data.logo_url).toMatch(new RegExp(`\\.${ending}$`));
    const served = await fetch(own.site_url + data.logo_url);
    const digest = (of: Uint8Array) => createHash("sha256").update(of).digest("hex");
    expect(digest(new Uint8Array(await served.arrayBuffer()))).toBe(digest(bytes));
  }
  await expect.poll(files, { timeout: 20_000 }).toHaveLength(1);
  expect((await put(Buffer.from("%PDF-1.7"))).status).toBe(400);
  expect((await put(png, { type: "image/svg+xml" })).status).toBe(415);
  expect((await put(padded(512 * 1024 + 1))).status).toBe(413);
});

test.each(Object.entries(heads))("a %s is as large in pixels as visitors' browsers can bear", async (_type, head) => {
  for (const [width, height] of [
    [2049, 1],
    [1, 2049],
    [10_000, 10_000],
  ] as const)
    expect((await put(head(width, height))).status, `${width} × ${height}`).toBe(413);
  expect((await put(head(2048, 2048))).status).toBe(200);
  for (const length of [3, 12, 16, 20, 23]) expect((await put(head(2048, 2048).subarray(0, length))).status).toBe(400);
});

test("no JPEG hides its size behind markers and bytes that browsers skip, or behind a smaller frame header", async () => {
  const hex = (text: string) => Buffer.from(text, "hex");
  const after = (start: Buffer, ...more: Buffer[]) =>
    Buffer.concat([hex("ffd8"), start, ...more.map((file) => file.subarray(2))]);
  const [small, large] = [only(heads.jpg)(100, 100), only(heads.jpg)(7500, 7500)];
  // A parser that takes the 0xfffe after the marker for a length skips the large picture and finds the small one.
  const behind = (skipped: Buffer) => {
    const passed = Buffer.concat([hex("fffe00040000"), large.subarray(2)]);
    return after(Buffer.concat([skipped, passed, Buffer.alloc(0xfffe - passed.length)]), small);
  };
  for (const skipped of ["ff01", "ffd0", "ffd7", "ffd8", "ffd9", "ff00", "00"])
    expect((await put(behind(hex(skipped)))).status, skipped).toBe(400);
  expect((await put(after(hex(""), small, large))).status).toBe(413);
  expect((await put(after(hex("ff"), small))).status).toBe(200);
});

test("only the organization's admins and keys with organization:write upload", async () => {
  const before = await files();
  const [other] = await own.sql<{ id: string }[]>`
    insert into public.organizations (slug, name) values ('other-logos', 'Other') returning id`;
  for (const [token, id, status] of [
    [(await own.person("member")).token, own.organization.id, 403],
    [(await own.person()).token, own.organization.id, 403],
    [await own.key(["submissions:read"]), own.organization.id, 403],
    [admin.token, other?.id, 403],
    [await own.key(["organization:write"]), other?.id, 404],
    [await own.key(["organization:write"]), own.organization.id, 200],
  ] as const)
    expect((await put(png, { token, id: id ?? "" })).status).toBe(status);
  await expect.poll(files, { timeout: 20_000 }).toHaveLength(before.length);
  // The path of another organization's logo is rejected for every writer.
  const theirs = await logo();
  await expect(
    own.sql`update public.organizations set logo_url = ${theirs} where id = ${other?.id ?? ""}`,
  ).rejects.toThrow("logo_url_is_an_https_address");
  const patched = await own.call("PATCH", `/api/organizations/${own.organization.id}`, {
    token: admin.token,
    body: { logo_url: `/logos/${other?.id}/${"0".repeat(32)}.png` },
  });
  expect(patched.status).toBe(400);
});

test("nobody reads or writes the storage without its key, or reads other files by the address of a logo", async () => {
  const path = `${own.supabase_url}/storage/v1`;
  for (const [method, to] of [
    ["POST", "/bucket"],
    ["GET", `/object/authenticated${await logo()}`],
    ["POST", `/object/logos/${own.organization.id}/x.png`],
    ["DELETE", `/object${await logo()}`],
  ] as const)
    for (const key of ["", own.publishable_key, own.secret_key, admin.token]) {
      const headers = { apikey: key, Authorization: `Bearer ${key}` };
      expect((await fetch(path + to, { method, headers })).status, `${method} ${to}`).toBe(404);
    }
  for (const name of ["..%2f..%2fsecrets.json", "secrets.json", `${"0".repeat(32)}.svg`, `${"0".repeat(32)}.png`])
    expect((await fetch(`${own.site_url}/logos/${own.organization.id}/${name}`)).status, name).toBe(404);
  expect(await files()).toHaveLength(1);
});

test("a backup of the running stack has the logos", async () => {
  expect((await put(padded(3000))).status).toBe(200);
  const path = await logo();
  const folder = await makeTemporaryFolder("restored");
  const dataDir = join(folder, "data");
  try {
    await backup(own.folder, join(folder, "backup.tar.gz"));
    await restore(join(folder, "backup.tar.gz"), dataDir);
    const restored = await startStack({ port: 0, dbPort: 0, seed: "none", parts: ["web"], dataDir });
    try {
      const served = await fetch(restored.site_url + path);
      expect(Buffer.from(await served.arrayBuffer())).toEqual(padded(3000));
    } finally {
      await restored.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("the file of a deleted organization is deleted, and with the schedule what was left before", async () => {
  expect((await put(png)).status).toBe(200);
  const file = join(own.folder, "storage", (await logo()) ?? "");
  expect((await stat(file)).isFile()).toBe(true);
  await own.sql`delete from public.organizations where id = ${own.organization.id}`;
  await expect.poll(() => stat(file).catch(() => null), { timeout: 20_000 }).toBeNull();
  await expect.poll(removed, { timeout: 20_000 }).toEqual([]);

  const [left, lost] = [`/logos/${randomUUID()}/${"0".repeat(32)}.png`, `/logos/${randomUUID()}/lost.png`];
  await mkdir(dirname(join(own.folder, "storage", left)), { recursive: true });
  await writeFile(join(own.folder, "storage", left), png);
  await own.sql`insert into private.removed_logos (path) values (${left}), (${lost})`;
  await own.sql`select private.run_schedule()`;
  await expect.poll(removed, { timeout: 20_000 }).toEqual([]);
  expect(await stat(join(own.folder, "storage", left)).catch(() => null)).toBeNull();
});

const removed = async () =>
  (await own.sql<{ path: string }[]>`select path from private.removed_logos`).map(({ path }) => path);
