import { deletedAnswer } from "../../shared/submissions.ts";
import {
  categoryCreate,
  categoryMergeAnswer,
  categoryOrder,
  categoryPatch,
  keptCategoryAnswer,
  keptCategoryListAnswer,
  keptTagAnswer,
  keptTagListAnswer,
  labelMerge,
  tagCreate,
  tagMergeAnswer,
  tagPatch,
} from "../../shared/taxonomy.ts";
import { dataResponse, endpointsOf, row } from "../_shared/http/endpoint.ts";
import {
  createLabel,
  deleteLabel,
  listKept,
  mergeLabels,
  orderCategories,
  updateLabel,
} from "../_shared/statements/taxonomy.ts";

const { get, post, put, patch, del } = endpointsOf({
  tag: "Categories and tags",
  access: "caller",
  scopes: ["organization:write"],
});

const kinds = {
  categories: {
    noun: "category",
    create: categoryCreate,
    patch: categoryPatch,
    one: keptCategoryAnswer,
    list: keptCategoryListAnswer,
    merged: categoryMergeAnswer,
  },
  tags: {
    noun: "tag",
    create: tagCreate,
    patch: tagPatch,
    one: keptTagAnswer,
    list: keptTagListAnswer,
    merged: tagMergeAnswer,
  },
};

const administration = (kind: keyof typeof kinds) => {
  const { noun, create, patch: changes, one, list, merged } = kinds[kind];
  return [
    get(`/admin/${kind}`, {
      summary: `List ${kind} with all their translations, as an admin`,
      responses: { 200: list },
      call: () => [listKept(kind)],
      respond: row("category or tag"),
    }),
    post(`/admin/${kind}`, {
      summary: `Create a ${noun}, as an admin`,
      body: create,
      responses: { 201: one },
      call: ({ body }) => [createLabel(kind, body)],
      respond: row("category or tag", 201),
    }),
    patch(`/admin/${kind}/:id`, {
      summary: `Change a ${noun}, as an admin`,
      body: changes,
      responses: { 200: one },
      call: ({ params, body }) => [updateLabel(kind, params.id, body)],
      respond: row("category or tag"),
    }),
    del(`/admin/${kind}/:id`, {
      summary: `Delete a ${noun}, as an admin; its submissions stay`,
      responses: { 200: deletedAnswer },
      call: ({ params }) => [deleteLabel(kind, params.id)],
      respond: () => dataResponse(200, `{"deleted":true}`),
    }),
    post(`/admin/${kind}/:id/merge`, {
      summary: `Merge a ${noun} into another, as an admin`,
      body: labelMerge,
      responses: { 200: merged },
      call: ({ params, body }) => [mergeLabels(kind, params.id, body.into_id)],
      respond: row("category or tag"),
    }),
  ];
};

export const adminTaxonomy = [
  ...administration("categories"),
  put("/admin/categories/order", {
    summary: "Set the order of categories, as an admin",
    body: categoryOrder,
    responses: { 200: keptCategoryListAnswer },
    call: ({ body }) => [orderCategories(body.ids)],
    respond: row("category or tag"),
  }),
  ...administration("tags"),
];
