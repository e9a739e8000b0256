import { categoryList, tagList } from "../../shared/taxonomy.ts";
import { notFound } from "../_shared/http/api-error.ts";
import { dataResponse, endpointsOf } from "../_shared/http/endpoint.ts";
import { listTaxonomy } from "../_shared/statements/taxonomy.ts";

const { get } = endpointsOf({ tag: "Categories and tags", access: "public" });

const list = (kind: "categories" | "tags", responses: { 200: typeof categoryList | typeof tagList }) =>
  get(`/organizations/:id/${kind}`, {
    summary: `List an organization's ${kind}, in the language of Accept-Language`,
    responses,
    call: ({ params, locale }) => [listTaxonomy(params.id, kind, locale)],
    respond: ([[found]], { locale }) => {
      if (!found) throw notFound("organization");
      return dataResponse(200, found.data, undefined, { "Content-Language": locale, Vary: "Accept-Language" });
    },
  });

export const taxonomy = [list("categories", { 200: categoryList }), list("tags", { 200: tagList })];
