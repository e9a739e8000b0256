import { isUuid } from "../../../../shared/fields.ts";
import { locales } from "../../../../shared/locales.ts";
import { type Label, listKept } from "../../../_shared/statements/taxonomy.ts";
import { adminTaxonomy } from "../../../endpoints/admin-taxonomy.ts";
import { type Column, DataTable } from "../../components/admin/table.tsx";
import { Button } from "../../components/button.tsx";
import { Dot } from "../../components/dot.tsx";
import { Field, Problem } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { Icon } from "../../components/icon.tsx";
import { formatList } from "../../format.ts";
import { endpointOf } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import { useVisit, useWords } from "../../rendering.ts";
import { rowOf } from "../../shown.ts";
import type { Visit } from "../../visit.ts";
import { adminPage } from "./admin-page.tsx";

type Kind = "categories" | "tags";

const translated = locales.filter((locale) => locale !== "en");
const languageName = (of: string, visit: Visit) =>
  new Intl.DisplayNames(visit.locale, { type: "language" }).of(of) ?? of;

const defaultColor = "#6b7280";
const baseOf = (visit: Visit, kind: Kind) => adminPath(visit, `/settings/${kind}`);

const ofApi = (method: "post" | "patch" | "put" | "delete", path: string) =>
  endpointOf(adminTaxonomy, method, `/admin/${path}`);
const order = ofApi("put", "categories/order");

const Fields = ({ of }: { of?: Label }) => {
  const visit = useVisit();
  const words = useWords("labels");
  return (
    <>
      <Field name="name" label={words.name} hint={words.nameHint} autocomplete="off" />
      <Field name="color" label={words.color} type="color" value={of?.color ?? defaultColor} />
      <Field
        name="slug"
        label={words.slug}
        hint={of ? words.slugHintOfOld : words.slugHint}
        required={false}
        autocomplete="off"
      />
      <fieldset class="stack">
        <legend>{words.translations}</legend>
        <p class="hint">{words.translationsHint}</p>
        <div class="translations">
          {translated.map((locale) => (
            <Field name={`translations.${locale}`} label={languageName(locale, visit)} autocomplete="off" />
          ))}
        </div>
      </fieldset>
    </>
  );
};

/** Puts a category before or after its neighbour: the whole order is sent. */
const Move = ({ all, at, to }: { all: Label[]; at: number; to: number }) => {
  const words = useWords("labels");
  const ids = all.map(({ id }) => id);
  const other = ids[to];
  const own = ids[at];
  if (other !== undefined && own !== undefined) {
    ids[to] = own;
    ids[at] = other;
  }
  const label = `${to < at ? words.up : words.down}${words.colon}${all[at]?.name}`;
  return (
    <Form of={order} hidden={{ ids: ids.join(",") }} hasProblem={false}>
      <Button
        kind="small"
        id={`${to < at ? "up" : "down"}-${own}`}
        aria-label={label}
        title={label}
        disabled={other === undefined}
      >
        <Icon name={to < at ? "arrow-up" : "arrow-down"} />
      </Button>
    </Form>
  );
};

const pagesOf = (area: Kind) => {
  const list = adminPage({
    area,
    read: () => [listKept(area)],
    view: ([labels], { visit, words }) => {
      const columns: Column<Label>[] = [
        {
          label: words.name,
          cell: ({ id, name, color }) => (
            <a class="link with-icon" href={`${baseOf(visit, area)}/${id}`}>
              <Dot color={color} />
              {name}
            </a>
          ),
        },
        { label: words.slug, cell: ({ slug }) => <code class="quiet">{slug}</code> },
        {
          label: words.translations,
          cell: ({ translations }) => (
            <span class="quiet">{formatList(Object.keys(translations).sort(), visit.locale) || words.none}</span>
          ),
        },
        {
          label: words.actions,
          hasQuietLabel: true,
          cell: (label) => {
            const at = labels.indexOf(label);
            return (
              <div class="row-actions">
                {area === "categories" && (
                  <>
                    <Move all={labels} at={at} to={at - 1} />
                    <Move all={labels} at={at} to={at + 1} />
                  </>
                )}
                <Button
                  kind="small danger"
                  href={`${baseOf(visit, area)}/${label.id}/delete`}
                  label={words.remove}
                  of={label.name}
                />
              </div>
            );
          },
        },
      ];
      return {
        title: words.title,
        actions: <Button kind="main" icon="plus" href={`${baseOf(visit, area)}/new`} label={words.create} />,
        content: (
          <>
            <p class="quiet lead">{words.text}</p>
            <Problem />
            <DataTable id="labels" caption={words.title} columns={columns} rows={labels} empty={<p>{words.empty}</p>} />
          </>
        ),
      };
    },
    actions:
      area === "categories"
        ? [
            {
              of: order,
              path: "/order",
              readForm: (form) => ({ ids: (form.get("ids") ?? "").split(",").filter(isUuid) }),
              next: "",
            },
          ]
        : [],
  });

  const create = adminPage({
    area,
    path: "/new",
    view: (_none, { visit, words }) => ({
      title: words.newTitle,
      trail: [],
      content: (
        <Form isOnce submit={words.create} back={baseOf(visit, area)}>
          <Fields />
        </Form>
      ),
    }),
    actions: [{ of: ofApi("post", area), done: "created", next: "" }],
  });

  const edit = adminPage({
    area,
    path: "/:id",
    read: () => [listKept(area)],
    view: ([labels], { visit, words, params }) => {
      const label = rowOf(labels, params.id);
      return {
        title: label.name,
        trail: [],
        content: (
          <Form values={label} submit={words.save} back={baseOf(visit, area)}>
            <Fields of={label} />
          </Form>
        ),
      };
    },
    actions: [{ of: ofApi("patch", `${area}/:id`), done: "saved", next: "" }],
  });

  const removal = ofApi("delete", `${area}/:id`);
  const merge = ofApi("post", `${area}/:id/merge`);
  const remove = adminPage({
    area,
    path: "/:id/delete",
    read: () => [listKept(area)],
    view: ([labels], { visit, words, params }) => {
      const label = rowOf(labels, params.id);
      const others = labels.filter(({ id }) => id !== label.id);
      return {
        title: words.removeTitle(label.name),
        trail: [{ label: label.name, href: `${baseOf(visit, area)}/${label.id}` }],
        confirm: {
          of: removal,
          text: words.removeText,
          lost: [words.removeLost, words.removeTranslations],
          submit: words.remove,
          back: baseOf(visit, area),
        },
        content: others.length > 0 && (
          <Form of={merge} class="card settings-form" hasProblem={false}>
            <h2>{words.merge}</h2>
            <p class="quiet">{words.mergeText}</p>
            <Field
              name="into_id"
              label={words.into}
              options={others.map(({ id, name }) => ({ value: id, label: name }))}
            />
            <div class="buttons">
              <Button label={words.merge} />
            </div>
          </Form>
        ),
      };
    },
    actions: [
      { of: removal, done: "removed", next: "" },
      { of: merge, path: "/:id/merge", done: "merged", next: "" },
    ],
  });

  // The list's path for the order is before the page of one, whose path it would match.
  return [list, create, edit, remove];
};

export const categoryPages = pagesOf("categories");
export const tagPages = pagesOf("tags");
