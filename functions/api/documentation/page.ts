import { Html, html, join, prose } from "./html.ts";
import {
  type Content,
  type OpenApi,
  type Operation,
  type Parameter,
  type Reference,
  resolve,
  type Schema,
} from "./model.ts";
import { style } from "./style.ts";

type Entry = { path: string; method: string; operation: Operation };

/** The document as one HTML page without script. */
export function page(document: OpenApi): string {
  const { info, components } = document;
  const entries = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]): Entry => ({ path, method, operation })),
  );
  const groups = document.tags.map(({ name }) => ({
    name,
    entries: entries.filter(({ operation }) => operation.tags.includes(name)),
  }));
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title}: API</title>
<style>${new Html(style)}</style>
</head>
<body>
<nav aria-label="Contents">
${groups.map(navigationOf)}
<ul><li><a href="#refusals">Refusals</a></li><li><a href="#schemas">Schemas</a></li></ul>
</nav>
<main>
<h1>${info.title}</h1>
${info.description.split("\n\n").map((paragraph) => html`<p>${prose(paragraph)}</p>`)}
<p>The OpenAPI ${document.openapi} document is <a href="openapi.json">openapi.json</a>. In the examples <code>$BASE_URL</code> is the part of this page's URL before <code>/api</code>, and <code>$TOKEN</code> an access token or a key.</p>
${Object.entries(components.securitySchemes).map(([name, scheme]) => html`<p><strong>${name}</strong>: <code>Authorization: Bearer ${scheme.bearerFormat ?? ""}</code>. ${prose(scheme.description)}</p>`)}
${groups.map(
  (group) => html`<section>
<h2 id="${anchorOf(group.name)}">${group.name}</h2>
${group.entries.map((entry) => sectionOf(entry, document))}
</section>`,
)}
<section>
<h2 id="refusals">Refusals</h2>
${Object.entries(components.responses).map(
  ([name, response]) => html`<h3 id="refusal-${name}"><a href="#refusal-${name}">${name}</a></h3>
<p>${prose(response.description)}</p>
<p>${shapeOf(response.content)}</p>`,
)}
</section>
<section>
<h2 id="schemas">Schemas</h2>
${Object.entries(components.schemas).map(([name, schema]) => schemaSection(name, schema))}
</section>
</main>
</body>
</html>
`.text;
}

function navigationOf({ name, entries }: { name: string; entries: Entry[] }): Html {
  return html`<p><a href="#${anchorOf(name)}">${name}</a></p>
<ul>${entries.map(({ operation }) => html`<li><a href="#${operation.operationId}">${operation.summary}</a></li>`)}</ul>
`;
}

function anchorOf(name: string): string {
  return `tag-${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}`;
}

// Documented once, in the introduction.
const commonParameters = new Set(["X-Organization", "organization"]);

function sectionOf(entry: Entry, document: OpenApi): Html {
  const { path, method, operation } = entry;
  const { schemas } = document.components;
  const parameters = operation.parameters
    .map((parameter) => parameterOf(parameter, document))
    .filter(({ name }) => !commonParameters.has(name));
  const body = operation.requestBody?.content["application/json"].schema;
  return html`<article>
<h3 id="${operation.operationId}"><a href="#${operation.operationId}"><span class="method">${method.toUpperCase()}</span> <code>${path}</code></a></h3>
<p>${prose(operation.summary)}. ${prose(operation.description)}</p>
${parameters.length > 0 && table("Parameter", parameters.map(parameterRow))}
${
  body &&
  html`<h4>Body</h4>
<p>${operation.requestBody?.required ? "Required. " : "Optional. "}${prose(operation.requestBody?.description)}</p>
${(body.anyOf ?? [body]).map(
  (option) => html`<p>${typeOf(option)}: ${prose(resolve(option, schemas).description)}</p>
${table("Field", rowsOf(resolve(option, schemas)))}`,
)}`
}
<h4>Answers</h4>
${answersOf(operation)}
<h4>Example</h4>
<pre tabindex="0">${curlOf(entry)}</pre>
</article>
`;
}

function parameterOf(parameter: Parameter | Reference, document: OpenApi): Parameter {
  if (!("$ref" in parameter)) return parameter;
  const found = document.components.parameters[nameOf(parameter.$ref)];
  if (!found) throw new Error(`There is no ${parameter.$ref}.`);
  return found;
}

function parameterRow({ name, in: location, required, description, schema }: Parameter): Html {
  return row(
    name,
    html`${typeOf(schema)} <span class="muted">in ${location}${required ? ", required" : ""}</span>`,
    description,
    schema,
  );
}

/** Success responses with their schema; error responses by link, because they are shared. */
function answersOf({ responses }: Operation): Html[] {
  const own: Html[] = [];
  const errorLinks: Html[] = [];
  for (const [status, response] of Object.entries(responses)) {
    if ("$ref" in response) errorLinks.push(html`<a href="#refusal-${nameOf(response.$ref)}">${status}</a>`);
    else own.push(html`<p><strong>${status}</strong> ${prose(response.description)} ${shapeOf(response.content)}</p>`);
  }
  return errorLinks.length > 0 ? [...own, html`<p class="muted">Refusals: ${join(errorLinks, ", ")}</p>`] : own;
}

function schemaSection(name: string, schema: Schema): Html {
  return html`<h3 id="schema-${name}"><a href="#schema-${name}">${name}</a></h3>
${schema.description && html`<p>${prose(schema.description)}</p>`}
${schema.properties ? table("Field", rowsOf(schema)) : html`<p>${typeOf(schema)}</p>`}
`;
}

function table(head: string, rows: Html[]): Html {
  return html`<div class="scroll"><table>
<thead><tr><th>${head}</th><th>Type</th><th>Meaning</th></tr></thead>
<tbody>${rows}</tbody>
</table></div>
`;
}

function row(name: string, type: Html, description: string | undefined, schema: Schema): Html {
  const value = schema.default === undefined ? "" : ` Default \`${String(schema.default)}\`.`;
  return html`<tr><td><code>${name}</code></td><td>${type}</td><td>${prose(`${description ?? ""}${value}`)}</td></tr>
`;
}

/** One row for each field; fields of anonymous objects follow with dotted names. */
function rowsOf({ properties = {}, required = [] }: Schema, prefix = ""): Html[] {
  return Object.entries(properties).flatMap(([name, value]) => {
    const schema = value as Schema;
    const path = `${prefix}${name}`;
    const type = html`${typeOf(schema)}${required.includes(name) ? "" : html` <span class="muted">optional</span>`}`;
    return [row(path, type, schema.description, schema), ...nestedRows(schema, path)];
  });
}

function nestedRows(schema: Schema, path: string): Html[] {
  if (schema.properties) return rowsOf(schema, `${path}.`);
  if (schema.items) return nestedRows(schema.items as Schema, `${path}[]`);
  return (schema.anyOf ?? []).flatMap((option) => nestedRows(option, path));
}

function shapeOf(content: Content): Html {
  const { "application/json": json, ...others } = content;
  return html`${typeOf(json.schema, true)}${Object.keys(others).map((type) => html` or <code>${type}</code>`)}`;
}

/** A schema in a few words with links to named schemas; `deep` shows the fields of anonymous ones. */
function typeOf(schema: Schema, deep = false): Html {
  if (schema.$ref) return html`<a href="#schema-${nameOf(schema.$ref)}">${nameOf(schema.$ref)}</a>`;
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.enum)
    return html`${join(
      schema.enum.map((value) => html`<code>${String(value)}</code>`),
      " | ",
    )}`;
  const options = schema.anyOf ?? schema.oneOf;
  if (options)
    return html`${join(
      options.map((option) => typeOf(option, deep)),
      " or ",
    )}`;
  if (schema.type === "array") return html`array of ${typeOf(schema.items as Schema, deep)}`;
  if (schema.properties && deep) {
    const fields = Object.entries(schema.properties).map(
      ([name, value]) => html`${name}: ${typeOf(value as Schema, deep)}`,
    );
    return html`{ ${join(fields, ", ")} }`;
  }
  return html`${schema.format ?? [schema.type ?? "anything"].flat().join(" or ")}`;
}

function nameOf(reference: string): string {
  return reference.split("/").at(-1) ?? "";
}

/** A curl example, with the credential if one is needed. */
function curlOf({ path, method, operation }: Entry): string {
  const open = operation.security.some((scheme) => Object.keys(scheme).length === 0);
  // Users send no body if only keys have fields.
  const body = operation.requestBody?.content["application/json"].examples?.person?.value;
  const [file] = Object.keys(operation.requestBody?.content ?? {}).filter((type) => type === "text/csv");
  const address = `$BASE_URL${path.replaceAll(/\{(\w+)\}/g, (_, id: string) => `$${id.toUpperCase()}`)}${queryOf(operation)}`;
  return [
    `curl ${method === "get" ? "" : `-X ${method.toUpperCase()} `}"${address}"`,
    !open && `  -H "Authorization: Bearer $TOKEN"`,
    body !== undefined && `  -H "Content-Type: application/json"`,
    file && `  -H "Content-Type: ${file}" --data-binary @file.csv`,
    body !== undefined && `  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`,
  ]
    .filter(Boolean)
    .join(" \\\n");
}

/** Required parameters only. */
function queryOf({ parameters }: Operation): string {
  const needed = parameters.flatMap((parameter) =>
    "in" in parameter && parameter.in === "query" && parameter.required ? [`${parameter.name}=dark`] : [],
  );
  return needed.length > 0 ? `?${needed.join("&")}` : "";
}
