import { readFileSync } from "node:fs";
import postgres from "postgres";
import { launchBrowser } from "./tests/browsers/browser.ts";
import { signInAs } from "./tests/browsers/demo.ts";
import { placesOf } from "./tests/browsers/places.ts";
const stack = JSON.parse(readFileSync("/tmp/zones/data/stack.json", "utf8"));
const sql = postgres(stack.db_url, { onnotice() {} });
const heb = (c: string) => `translate(regexp_replace(lower(normalize(${c}, NFD)), '[\u0300-\u036f]', '', 'g'), 'abcdefghijklmnopqrstuvwxyzßøæœıł', 'אבגדהוזחטיכלמנסעפצקרשתךםןץסואוטל')`;
if (process.argv.includes("turn")) {
  await sql.begin(async (sql) => {
    for (const [t, cs, w] of [["public.organizations", ["name"], "true"], ["public.profiles", ["name"], "id::text < '8'"], ["public.categories", ["name"], "true"], ["public.tags", ["name"], "true"], ["public.submissions", ["title", "description"], "id::text < '9'"], ["public.comments", ["body"], "true"], ["public.status_changes", ["note"], "true"], ["public.surveys", ["title", "description"], "true"], ["public.survey_questions", ["text"], "true"], ["public.survey_options", ["text"], "true"], ["private.api_keys",["name"],"true"]] as const) {
      if (t !== "public.submissions") await sql.unsafe(`alter table ${t} disable trigger user`);
      await sql.unsafe(`update ${t} set ${cs.map((c) => `${c} = ${heb(c)} || '!'`).join(", ")} where ${w}`);
    }
    await sql`update public.categories set translations = '{}'`;
    await sql`update public.tags set translations = '{}'`;
    await sql`update public.organizations set time_zone = 'America/St_Johns', name = 'שלום בע״מ'`;
    for (const t of ["public.organizations","public.profiles","public.categories","public.tags","public.comments","public.status_changes","public.surveys","public.survey_questions","public.survey_options","private.api_keys"]) await sql.unsafe(`alter table ${t} enable trigger user`);
  });
}
const browser = await launchBrowser();
const want = process.argv.slice(2).filter((a) => a !== "turn");
const places = await placesOf(stack);
for (const spec of want) {
  const [name, width, theme] = spec.split("@");
  const p = places.find((x) => x.name === name) ?? { name, path: name, as: "owner" as const };
  const context = await browser.newContext({ baseURL: stack.site_url, locale: "en-US", viewport: { width: Number(width ?? 1280), height: 900 }, colorScheme: (theme ?? "light") as "light" });
  if (p.as) await signInAs(context, stack, p.as);
  const page = await context.newPage();
  await page.goto(p.path);
  await page.screenshot({ path: `/tmp/zones/shot-${spec.replace(/[^a-z0-9]+/gi, "-")}.png` });
  await context.close();
}
await browser.close(); await sql.end();
