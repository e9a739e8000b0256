import type { categoryList, categoryMergeAnswer, keptCategoryAnswer } from "../../../shared/taxonomy.ts";
import type { Sql, Statement } from "../database/run.ts";
import type { LocaleValue } from "./pages.ts";
import { call, type Data, type DataOf } from "./shapes.ts";

/** A category or tag with all its translations; a tag has no position. */
export type Label = DataOf<typeof keptCategoryAnswer>;
type Kind = "categories" | "tags";

/**
 * Localized categories or tags of an organization: by its id, by a submission's id, or that of the request. No row if
 * the caller does not see the organization.
 */
export function listTaxonomy(
  of: string | { submissionId: string } | undefined,
  kind: Kind,
  locale: LocaleValue,
): Statement<Data<DataOf<typeof categoryList>>> {
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
export const listKept = (kind: Kind) => call<Label[]>("admin_labels", kind);

export const createLabel = (kind: Kind, fields: object) => call<Label>("admin_create_label", kind, fields);

export const updateLabel = (kind: Kind, id: string, fields: object) =>
  call<Label>("admin_update_label", kind, id, fields);

export const deleteLabel = (kind: Kind, id: string) => call("admin_delete_label", kind, id);

export const mergeLabels = (kind: Kind, id: string, intoId: string) =>
  call<DataOf<typeof categoryMergeAnswer>>("admin_merge_labels", kind, id, intoId);

export const orderCategories = (ids: string[]) => call<Label[]>("admin_order_categories", ids);
