import type { Locale } from "../../../shared/locales.ts";
import type { Sql, Statement } from "../database/run.ts";
import type { Data } from "./shapes.ts";

type Kind = "categories" | "tags";

/**
 * Localized categories or tags of an organization: by its id, by a submission's id, or that of the request. No row if
 * the caller does not see the organization.
 */
export function listTaxonomy(
  of: string | { submissionId: string } | undefined,
  kind: Kind,
  locale: Locale,
): Statement<{ data: string }> {
  const organizationId = (sql: Sql) =>
    of === undefined
      ? sql`private.current_organization_id()`
      : typeof of === "string"
        ? sql`${of}::uuid`
        : sql`(select s.organization_id from public.submissions s where s.id = ${of.submissionId}::uuid)`;
  return (sql) => sql`
    select coalesce((
      select json_agg(json_build_object('id', t.id, 'name', private.localized(t.name, t.translations, ${locale}), 'slug', t.slug, 'color', t.color)
        order by ${kind === "categories" ? sql`t.position, t.slug` : sql`t.slug`})
      from public.${sql(kind)} t where t.organization_id = o.id), '[]')::text as data
    from public.organizations o where o.id = ${organizationId(sql)} and private.in_organization(o.id)`;
}

/** With all translations, for Admin. */
export function listKept(kind: Kind): Statement<Data> {
  return (sql) => sql`select private.admin_labels(${kind})::text as data`;
}

export function createLabel(kind: Kind, fields: object): Statement<Data> {
  return (sql) =>
    sql`select private.admin_create_label(${kind}, ${JSON.stringify(fields)}::text::jsonb)::text as data`;
}

export function updateLabel(kind: Kind, id: string, fields: object): Statement<Data> {
  return (sql) =>
    sql`select private.admin_update_label(${kind}, ${id}, ${JSON.stringify(fields)}::text::jsonb)::text as data`;
}

export function deleteLabel(kind: Kind, id: string): Statement {
  return (sql) => sql`select private.admin_delete_label(${kind}, ${id})`;
}

export function mergeLabels(kind: Kind, id: string, intoId: string): Statement<Data> {
  return (sql) => sql`select private.admin_merge_labels(${kind}, ${id}, ${intoId})::text as data`;
}

export function orderCategories(ids: string[]): Statement<Data> {
  return (sql) => sql`select private.admin_order_categories(${ids}::uuid[])::text as data`;
}
