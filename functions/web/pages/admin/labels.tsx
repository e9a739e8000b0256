import type { z } from "zod";
import { isUuid } from "../../../../shared/fields.ts";
import { locales } from "../../../../shared/locales.ts";
import {
  categoryCreate,
  categoryPatch,
  type keptCategoryListAnswer,
  tagCreate,
  tagPatch,
} from "../../../../shared/taxonomy.ts";
import { notFound } from "../../../_shared/http/api-error.ts";
import { valueOfForm } from "../../../_shared/http/form.ts";
import { listKept } from "../../../_shared/statements/taxonomy.ts";
import { adminTaxonomy } from "../../../endpoints/admin-taxonomy.ts";
import { Cancel } from "../../components/admin/cancel.tsx";
import { Confirm } from "../../components/admin/confirm.tsx";
import { type Column, DataTable } from "../../components/admin/table.tsx";
import { Dot } from "../../components/dot.tsx";
import { Field, Problem } from "../../components/field.tsx";
import { FormId } from "../../components/form-id.tsx";
import { Icon } from "../../components/icon.tsx";
import { type LabelsMessages, labelsMessages } from "../../messages/admin/index.ts";
import { endpointOf } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import type { Visit } from "../../visit.ts";
import { adminAction, adminPage } from "./admin-page.tsx";

type Kind = "categories" | "tags";
/** A tag has no position. */
type Label = z.output<typeof keptCategoryListAnswer>["data"][number];

const translated = locales.filter((locale) => locale !== "en");
const languageName = (of: string, visit: Visit) =>
  new Intl.DisplayNames(visit.locale, { type: "language" }).of(of) ?? of;

const defaultColor = "#6b7280";
const baseOf = (visit: Visit, kind: Kind) => adminPath(visit, `/settings/${kind}`);
const parsed = (rows: readonly { data: string }[]): Label[] => JSON.parse(rows[0]?.data ?? "[]");

function labelNamed(rows: readonly { data: string }[], id: string): Label {
  const found = parsed(rows).find((label) => label.id === id.toLowerCase());
  if (!found) throw notFound("resource");
  return found;
}

/** Translations are a record, which a form names by language. */
const readLabel = (schema: z.ZodType) => (form: URLSearchParams) => ({
  ...(valueOfForm(schema, form) as object),
  translations: Object.fromEntries(
    translated
      .filter((locale) => form.has(`translations.${locale}`))
      .map((locale) => [locale, form.get(`translations.${locale}`) || null]),
  ),
});

const Fields = ({ of, visit, words }: { of?: Label; visit: Visit; words: LabelsMessages }) => (
  <>
    <Field
      name="name"
      label={words.name}
      hint={words.nameHint}
      value={of?.name}
      required
      maxlength={100}
      autocomplete="off"
      visit={visit}
    />
    <Field
      name="color"
      label={words.color}
      type="color"
      value={of?.color ?? defaultColor}
      required
      visit={visit}
    />
    <Field
      name="slug"
      label={words.slug}
      hint={of ? words.slugHintOfOld : words.slugHint}
      value={of?.slug}
      maxlength={60}
      autocomplete="off"
      visit={visit}
    />
    <fieldset class="stack">
      <legend>{words.translations}</legend>
      <p class="hint">{words.translationsHint}</p>
      <div class="translations">
        {translated.map((locale) => (
          <Field
            name={`translations.${locale}`}
            label={languageName(locale, visit)}
            value={of?.translations[locale]}
            maxlength={100}
            autocomplete="off"
            visit={visit}
          />
        ))}
      </div>
    </fieldset>
  </>
);

/** Puts a category before or after its neighbour: the whole order is sent. */
const Move = ({ all, at, to, visit, words }: MoveProps) => {
  const ids = all.map(({ id }) => id);
  const other = ids[to];
  const own = ids[at];
  if (other !== undefined && own !== undefined) {
    ids[to] = own;
    ids[at] = other;
  }
  const label = `${to < at ? words.up : words.down}: ${all[at]?.name}`;
  return (
    <form method="post" action={`${baseOf(visit, "categories")}/order`}>
      <input type="hidden" name="_method" value="put" />
      <input type="hidden" name="ids" value={ids.join(",")} />
      <button
        type="submit"
        id={`${to < at ? "up" : "down"}-${own}`}
        class="button small"
        aria-label={label}
        title={label}
        disabled={other === undefined}
      >
        <Icon name={to < at ? "arrow-up" : "arrow-down"} />
      </button>
    </form>
  );
};
type MoveProps = { all: Label[]; at: number; to: number; visit: Visit; words: LabelsMessages };

const pagesOf = (area: Kind) => {
  const words = (locale: Visit["locale"]) => {
    const all = labelsMessages(locale);
    return { ...all, ...all[area] };
  };

  const list = adminPage({
    area,
    words,
    call: () => [listKept(area)],
    view: ([rows], { visit, words }) => {
      const labels = parsed(rows);
      const columns: Column<Label>[] = [
        {
          key: "name",
          label: words.name,
          cell: ({ id, name, color }) => (
            <a class="link with-icon" href={`${baseOf(visit, area)}/${id}`}>
              <Dot color={color} />
              {name}
            </a>
          ),
        },
        { key: "slug", label: words.slug, cell: ({ slug }) => <code class="quiet">{slug}</code> },
        {
          key: "translations",
          label: words.translations,
          cell: ({ translations }) => (
            <span class="quiet">{Object.keys(translations).sort().join(", ") || words.none}</span>
          ),
        },
        {
          key: "actions",
          label: words.actions,
          hasQuietLabel: true,
          cell: (label) => {
            const at = labels.indexOf(label);
            return (
              <div class="row-actions">
                {area === "categories" && (
                  <>
                    <Move all={labels} at={at} to={at - 1} visit={visit} words={words} />
                    <Move all={labels} at={at} to={at + 1} visit={visit} words={words} />
                  </>
                )}
                <a
                  class="button small danger"
                  href={`${baseOf(visit, area)}/${label.id}/delete`}
                  aria-label={`${words.remove}: ${label.name}`}
                >
                  {words.remove}
                </a>
              </div>
            );
          },
        },
      ];
      return {
        title: words.title,
        actions: (
          <a class="button main" href={`${baseOf(visit, area)}/new`}>
            <Icon name="plus" />
            {words.create}
          </a>
        ),
        content: (
          <>
            <p class="quiet lead">{words.text}</p>
            <Problem visit={visit} />
            <DataTable
              id="labels"
              caption={words.title}
              columns={columns}
              rows={labels}
              rowId={({ id }) => id}
              empty={<p>{words.empty}</p>}
              visit={visit}
            />
          </>
        ),
      };
    },
  });

  const create = adminPage({
    area,
    path: "/new",
    words,
    call: () => [],
    view: (_rows, { visit, words }) => ({
      title: words.newTitle,
      trail: [],
      content: (
        <form method="post" action={`${baseOf(visit, area)}/new`} class="card settings-form">
          <Problem visit={visit} />
          <FormId />
          <Fields visit={visit} words={words} />
          <div class="buttons">
            <button type="submit" class="button main">
              {words.create}
            </button>
            <Cancel href={baseOf(visit, area)} visit={visit} />
          </div>
        </form>
      ),
    }),
  });

  const edit = adminPage({
    area,
    path: "/:id",
    words,
    call: () => [listKept(area)],
    view: ([rows], { visit, words, params }) => {
      const label = labelNamed(rows, params.id ?? "");
      return {
        title: label.name,
        trail: [],
        content: (
          <form method="post" action={`${baseOf(visit, area)}/${label.id}`} class="card settings-form">
            <Problem visit={visit} />
            <input type="hidden" name="_method" value="patch" />
            <Fields of={label} visit={visit} words={words} />
            <div class="buttons">
              <button type="submit" class="button main">
                {words.save}
              </button>
              <Cancel href={baseOf(visit, area)} visit={visit} />
            </div>
          </form>
        ),
      };
    },
  });

  const remove = adminPage({
    area,
    path: "/:id/delete",
    words,
    call: () => [listKept(area)],
    view: ([rows], { visit, words, params }) => {
      const label = labelNamed(rows, params.id ?? "");
      const others = parsed(rows).filter(({ id }) => id !== label.id);
      const path = `${baseOf(visit, area)}/${label.id}`;
      return {
        title: words.removeTitle(label.name),
        trail: [{ label: label.name, href: path }],
        content: (
          <>
            <Confirm
              text={words.removeText}
              lost={[words.removeLost, words.removeTranslations]}
              action={`${path}/delete`}
              fields={[["_method", "delete"]]}
              submit={words.remove}
              back={baseOf(visit, area)}
              visit={visit}
            />
            {others.length > 0 && (
              <form method="post" action={`${path}/merge`} class="card settings-form">
                <h2>{words.merge}</h2>
                <p class="quiet">{words.mergeText}</p>
                <Field
                  name="into_id"
                  label={words.into}
                  options={others.map(({ id, name }) => ({ value: id, label: name }))}
                  visit={visit}
                />
                <div class="buttons">
                  <button type="submit" class="button">
                    {words.merge}
                  </button>
                </div>
              </form>
            )}
          </>
        ),
      };
    },
  });

  const ofApi = (method: "post" | "patch" | "delete", path: string) =>
    endpointOf(adminTaxonomy, method, `/admin/${area}${path}`);
  const [createSchema, patchSchema] =
    area === "categories" ? [categoryCreate, categoryPatch] : [tagCreate, tagPatch];
  const redirectTo = (_response: unknown, { visit }: { visit: Visit }) => baseOf(visit, area);
  return [
    list,
    // Before the page of one, whose path it would match.
    ...(area === "categories"
      ? [
          adminAction(endpointOf(adminTaxonomy, "put", "/admin/categories/order"), {
            area,
            path: "/order",
            formPage: list,
            readForm: (form) => ({ ids: (form.get("ids") ?? "").split(",").filter(isUuid) }),
            redirectTo,
          }),
        ]
      : []),
    create,
    edit,
    remove,
    adminAction(ofApi("post", ""), {
      area,
      path: "/new",
      formPage: create,
      readForm: readLabel(createSchema),
      doneMessage: "created",
      redirectTo,
    }),
    adminAction(ofApi("patch", "/:id"), {
      area,
      path: "/:id",
      formPage: edit,
      readForm: readLabel(patchSchema),
      doneMessage: "saved",
      redirectTo,
    }),
    adminAction(ofApi("delete", "/:id"), {
      area,
      path: "/:id/delete",
      formPage: remove,
      doneMessage: "removed",
      redirectTo,
    }),
    adminAction(ofApi("post", "/:id/merge"), {
      area,
      path: "/:id/merge",
      formPage: remove,
      doneMessage: "merged",
      redirectTo,
    }),
  ];
};

export const categoryPages = pagesOf("categories");
export const tagPages = pagesOf("tags");
