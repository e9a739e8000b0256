import { type ZipFile, zipOf } from "../zip.ts";

// Constructed by hand, not exported from a running Fider: tables, columns and types of app/pkg/backup and the
// migrations of github.com/getfider/fider at 67c5282 (July 2026). Go writes each table as one line of JSON.

type Row = Record<string, unknown>;

const tenant_id = 1;
const at = (day: number) => `2024-03-${String(day).padStart(2, "0")}T10:00:00.123456Z`;

export const fiderUser = (id: number, name: string, email: string, more: Row = {}): Row => ({
  ...{ api_key: null, api_key_date: null, avatar_bkey: "", avatar_type: 2, created_at: at(1), email },
  ...{ email_supressed_at: null, id, is_trusted: false, name, role: 1, security_stamp: "0", status: 1, tenant_id },
  ...more,
});
export const fiderPost = (id: number, number: number, title: string, more: Row = {}): Row => ({
  ...{ created_at: at(number), description: "As fast as it was told us on the first day.", id, is_approved: true },
  ...{ language: "english", number, original_id: null, response: null, response_date: null },
  ...{ response_user_id: null, search: "'fast':2A", slug: "go", status: 0, tenant_id, title, user_id: 1 },
  ...more,
});
const fiderComment = (id: number, post_id: number, user_id: number, content: string, more: Row = {}): Row => ({
  ...{ content, created_at: at(10), deleted_at: null, deleted_by_id: null, edited_at: null, edited_by_id: null },
  ...{ id, is_approved: true, post_id, tenant_id, user_id },
  ...more,
});
export const fiderVote = (post_id: number, user_id: number): Row => ({
  ...{ created_at: at(11), post_id, tenant_id, user_id },
});
const subscriber = (post_id: number, user_id: number, status: number): Row => ({
  ...{ created_at: at(12), post_id, status, tenant_id, updated_at: at(12), user_id },
});
const tag = (id: number, name: string, color: string, is_public: boolean): Row => ({
  ...{ color, created_at: at(1), id, is_public, name, slug: name, tenant_id },
});
const tagged = (post_id: number, tag_id: number): Row => ({
  ...{ created_at: at(2), created_by_id: 1, post_id, tag_id, tenant_id },
});

export const fiderTables: Record<string, Row[]> = {
  attachments: [{ attachment_bkey: "attachments/a.png", comment_id: null, id: 1, post_id: 11, tenant_id, user_id: 1 }],
  comments: [
    fiderComment(21, 11, 2, "Indeed it is", { edited_at: at(13) }),
    fiderComment(22, 11, 2, "Taken back", { deleted_at: at(14), deleted_by_id: 2 }),
    fiderComment(23, 15, 2, "On what was deleted"),
    fiderComment(24, 12, 4, "By somebody who left", { is_approved: false }),
  ],
  email_verifications: [],
  notifications: [],
  oauth_providers: [],
  posts: [
    fiderPost(11, 1, "Go is fast", {
      ...{ response: "Nothing to do", response_date: at(15), response_user_id: 1, status: 3, user_id: 2 },
    }),
    fiderPost(13, 3, "Go is very easy", {
      original_id: 14,
      response: "",
      response_date: at(16),
      status: 5,
      user_id: 3,
    }),
    fiderPost(12, 2, "Go", { description: null, is_approved: false, user_id: 3 }),
    fiderPost(14, 4, "Go is easy", { status: 4 }),
    fiderPost(15, 5, "Go is deleted", { status: 6 }),
  ],
  post_subscribers: [subscriber(11, 1, 1), subscriber(11, 2, 0), subscriber(13, 3, 1), subscriber(15, 1, 1)],
  post_tags: [tagged(11, 31), tagged(11, 32), tagged(14, 31)],
  post_votes: [fiderVote(11, 1), fiderVote(13, 3), fiderVote(14, 1), fiderVote(14, 3), fiderVote(15, 1)],
  tags: [tag(31, "easy", "FF8800", true), tag(32, "secret", "000000", false)],
  tenants: [{ id: tenant_id, name: "Westeros", subdomain: "westeros" }],
  user_providers: [],
  users: [
    fiderUser(1, "Jon Snow", "jon@x.example", { role: 3 }),
    fiderUser(2, "Arya", "arya@x.example"),
    fiderUser(3, "Sansa", ""),
    fiderUser(4, "", "", { status: 2 }),
  ],
  user_settings: [],
};

/** backup.zip with its files in Fider's order, and one uploaded file. */
export function fiderBackup(tables: Record<string, Row[]> = {}, ...more: ZipFile[]): Uint8Array {
  const files = Object.entries({ ...fiderTables, ...tables }).map(
    ([name, rows]): ZipFile => [`${name}.json`, JSON.stringify(rows)],
  );
  return zipOf([...files, ["blobs/attachments/a.png", Uint8Array.of(0x89, 0x50, 0x4e, 0x47)], ...more]);
}
