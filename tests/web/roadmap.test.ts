import { beforeAll, expect, test } from "vitest";
import { newOrganization, newSubmission, newUser, type Organization } from "../api/world.ts";
import { sql } from "../stack.ts";
import { newVisitor, signedIn } from "./pages.ts";

let organization: Organization;
let path: string;

beforeAll(async () => {
  organization = await newOrganization();
  path = `/o/${organization.slug}/roadmap`;
});

async function submissionOf(status: string, title: string): Promise<string> {
  const id = await newSubmission(organization, await newUser(), { title });
  await sql`update public.submissions set status = ${status} where id = ${id}`;
  return id;
}

const teamMember = (role: "admin" | "member") => signedIn({ organization, role });

const columnsAt = async (visitor = newVisitor()) => {
  const { html } = await visitor.get(path);
  return Object.fromEntries(
    html
      .querySelectorAll(".roadmap-column")
      .map((column) => [
        column.getAttribute("data-status"),
        {
          count: column.querySelector("h2 .number")?.text,
          titles: column.querySelectorAll("h3").map((title) => title.text.trim()),
        },
      ]),
  );
};

test("the roadmap has a column for each active status, most votes first, with the submissions visible to the caller", async () => {
  await submissionOf("open", "Not on the roadmap");
  await submissionOf("planned", "A <i>plan</i>");
  const wanted = await submissionOf("planned", "Wanted more");
  const hidden = await submissionOf("planned", "Pending");
  await sql`update public.submissions set moderation_state = 'pending' where id = ${hidden}`;
  const voter = await signedIn();
  await voter.post(`/submissions/${wanted}/vote`);
  expect(await columnsAt()).toEqual({
    under_review: { count: "0", titles: [] },
    planned: { count: "2", titles: ["Wanted more", "A <i>plan</i>"] },
    in_progress: { count: "0", titles: [] },
    completed: { count: "0", titles: [] },
  });
  const { html } = await voter.get(path);
  expect(html.querySelector(`#vote-${wanted} button`)?.getAttribute("aria-pressed")).toBe("true");
  expect(html.querySelectorAll(".move")).toHaveLength(0);
  expect((await columnsAt(await teamMember("member"))).planned?.titles).toContain("Pending");
});

test("an admin moves a card with a note by a form, and no other caller can", async () => {
  const id = await submissionOf("under_review", "Moved by a form");
  const admin = await teamMember("admin");
  const asked = await admin.get(`${path}?move=${id}&to=in_progress`);
  const form = asked.html.querySelector("#move form");
  expect(form?.querySelector("option[selected]")?.getAttribute("value")).toBe("in_progress");
  const moved = await admin.submit(form ?? null, { status: "in_progress", note: "We began." });
  expect([moved.status, moved.location], moved.text).toEqual([303, `${path}?moved=${id}`]);
  expect((await admin.get(moved.location ?? "")).html.querySelector("[role=status]")?.text).toBe(
    "Moved to “In progress”.",
  );
  const [change] = await sql`select new_status, note from public.status_changes where submission_id = ${id}`;
  expect(change).toEqual({ new_status: "in_progress", note: "We began." });

  for (const other of [await signedIn(), await teamMember("member")]) {
    expect((await other.get(`${path}?move=${id}`)).html.querySelector("#move")).toBeNull();
    const refused = await other.post(`/submissions/${id}/status`, { _method: "patch", status: "planned" });
    expect(refused.status).toBe(403);
  }
  expect((await columnsAt()).in_progress?.titles).toEqual(["Moved by a form"]);
});

test("a submission of another board has no move form", async () => {
  const elsewhere = await newSubmission(await newOrganization(), await newUser(), { title: "Elsewhere" });
  const admin = await teamMember("admin");
  const { html, text } = await admin.get(`${path}?move=${elsewhere}`);
  expect(html.querySelector("#move")).toBeNull();
  expect(text).not.toContain("Elsewhere");
});
