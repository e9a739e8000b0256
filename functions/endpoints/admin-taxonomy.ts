import type { Scope } from "../../shared/scopes.ts";
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
import { notFound } from "../_shared/http/api-error.ts";
import { type ApiResponse, dataResponse, endpoint } from "../_shared/http/endpoint.ts";
import type { Data } from "../_shared/statements/shapes.ts";
import {
  createLabel,
  deleteLabel,
  listKept,
  mergeLabels,
  orderCategories,
  updateLabel,
} from "../_shared/statements/taxonomy.ts";

const forAdmins = {
  tag: "Categories and tags",
  access: "caller" as const,
  scopes: ["organization:write"] satisfies Scope[],
};

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

function answerWith(status: number, rows: readonly Data[]): ApiResponse {
  const [row] = rows;
  if (!row) throw notFound("category or tag");
  return dataResponse(status, row.data);
}

const administration = (kind: keyof typeof kinds) => {
  const { noun, create, patch, one, list, merged } = kinds[kind];
  return [
    endpoint({
      ...forAdmins,
      method: "get",
      path: `/admin/${kind}`,
      summary: `List ${kind} with all their translations, as an admin`,
      responses: { 200: list },
      call: () => [listKept(kind)],
      respond: ([rows]) => answerWith(200, rows),
    }),
    endpoint({
      ...forAdmins,
      method: "post",
      path: `/admin/${kind}`,
      summary: `Create a ${noun}, as an admin`,
      body: create,
      responses: { 201: one },
      call: ({ body }) => [createLabel(kind, body)],
      respond: ([rows]) => answerWith(201, rows),
    }),
    endpoint({
      ...forAdmins,
      method: "patch",
      path: `/admin/${kind}/:id`,
      summary: `Change a ${noun}, as an admin`,
      body: patch,
      responses: { 200: one },
      call: ({ params, body }) => [updateLabel(kind, params.id, body)],
      respond: ([rows]) => answerWith(200, rows),
    }),
    endpoint({
      ...forAdmins,
      method: "delete",
      path: `/admin/${kind}/:id`,
      summary: `Delete a ${noun}, as an admin; its submissions stay`,
      responses: { 200: deletedAnswer },
      call: ({ params }) => [deleteLabel(kind, params.id)],
      respond: () => dataResponse(200, `{"deleted":true}`),
    }),
    endpoint({
      ...forAdmins,
      method: "post",
      path: `/admin/${kind}/:id/merge`,
      summary: `Merge a ${noun} into another, as an admin`,
      body: labelMerge,
      responses: { 200: merged },
      call: ({ params, body }) => [mergeLabels(kind, params.id, body.into_id)],
      respond: ([rows]) => answerWith(200, rows),
    }),
  ];
};

export const adminTaxonomy = [
  ...administration("categories"),
  endpoint({
    ...forAdmins,
    method: "put",
    path: "/admin/categories/order",
    summary: "Set the order of categories, as an admin",
    body: categoryOrder,
    responses: { 200: keptCategoryListAnswer },
    call: ({ body }) => [orderCategories(body.ids)],
    respond: ([rows]) => answerWith(200, rows),
  }),
  ...administration("tags"),
];
