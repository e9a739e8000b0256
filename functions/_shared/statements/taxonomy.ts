import type { Locale } from "../../../shared/locales.ts";
import type { Statement } from "../database.ts";

/** All of an organization's categories or tags, localized, by default of the one the request is about; no row where the caller sees no such organization. */
export function listTaxonomy(
  organizationId: string | undefined,
  kind: "categories" | "tags",
  locale: Locale,
): Statement<{ data: string }> {
  return (sql) => sql`
    select coalesce((
      select json_agg(json_build_object('id', t.id, 'name', private.localized(t.name, t.translations, ${locale}), 'slug', t.slug, 'color', t.color)
        order by ${kind === "categories" ? sql`t.position, t.slug` : sql`t.slug`})
      from public.${sql(kind)} t where t.organization_id = o.id), '[]')::text as data
    from public.organizations o where o.id = ${organizationId === undefined ? sql`private.current_organization_id()` : sql`${organizationId}::uuid`} and private.in_organization(o.id)`;
}
