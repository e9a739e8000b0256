import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { capturedMails } from "../functions/mail-capture.ts";
import { withDatabase } from "../postgres/database.ts";
import type { Stack } from "../stack.ts";

/** Sends three mails of the demo organization; returns the captured mails and the pages of their links. */
export async function demoMails(stack: Stack): Promise<{ mails: Map<string, string>; paths: string[] }> {
  const { demo } = stack;
  if (!demo) throw new Error("Mails are made of the demo data.");
  await withDatabase(stack.db_url, async (sql) => {
    const own = demo.organization.id;
    await sql`update public.organizations set mail_enabled = true, brand_color = '#0f766e' where id = ${own}`;
    await sql`update auth.users set email_confirmed_at = now()`;
    const [alice] = await sql`select id from public.profiles where email = ${demo.users.alice} and kind = 'user'`;
    const [bob] = await sql`select id from public.profiles where email = ${demo.users.bob} and kind = 'user'`;
    const followed = await sql`
      select s.id from public.submissions s where s.organization_id = ${own} and s.status = 'planned'
        and s.merged_into_id is null and s.moderation_state = 'approved' order by s.vote_count desc limit 3`;
    for (const { id } of followed)
      await sql`insert into public.follows (organization_id, submission_id, user_id, reason) values (${own}, ${id}, ${alice?.id}, 'manual') on conflict do nothing`;
    await sql`
      insert into public.status_changes (organization_id, submission_id, new_status, note)
      values (${own}, ${followed[0]?.id}, 'completed', ${"It is in release 4.2, for all plans.\nUpdate the app, and open Settings to turn it on."})`;
    for (const { id } of followed.slice(1))
      await sql`
        insert into public.comments (organization_id, submission_id, author_id, body)
        values (${own}, ${id}, ${bob?.id}, 'The cellar of any hospital is a good test. We lose half an hour there each day.')`;
    await sql`
      insert into public.submissions (organization_id, author_id, title, description, type)
      values (${own}, ${bob?.id}, 'Print the route of the day', 'Some of us still like to have it on paper in the van.', 'idea')`;
    await sql`update private.mail_items set due_at = now()`;
  });
  const folder = join(dirname(stack.mailPath), "mail");
  const wanted: Record<string, string> = { status: "Completed:", digest: "News from", team: "New feedback in" };
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await sleep(200)) {
    const captured = await capturedMails(folder);
    const found = Object.entries(wanted).flatMap(([name, subject]) => {
      const mail = captured.find(
        ({ subject: of, to }) => of.startsWith(subject) && (name === "team" || to.includes(demo.users.alice)),
      );
      return mail ? [[name, mail] as const] : [];
    });
    if (found.length < Object.keys(wanted).length) continue;
    const text = found[0]?.[1].text ?? "";
    return {
      mails: new Map(found.map(([name, { html = "" }]) => [name, html])),
      paths: ["unsubscribe", "mail"].map((path) => new RegExp(`(/${path}\\?token=[\\w.-]+)`).exec(text)?.[1] ?? ""),
    };
  }
  throw new Error("The mails did not come.");
}
