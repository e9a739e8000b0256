import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { root } from "../database-server.ts";

// Writes docs/client-reference.md: the exports of packages/client, from their declarations and TSDoc comments.

export const clientReference = join(root, "docs", "client-reference.md");
const source = join(root, "packages", "client", "src");

/** An export of the package. */
export type Export = {
  name: string;
  /** Its declaration; undefined for the generated types, which are too long. */
  declaration: string | undefined;
  isCode: boolean;
  comment: string;
  parameters: { name: string; comment: string }[];
  returns: string;
  throws: string;
  examples: string[];
  /** Members without a comment. */
  uncommented: string[];
};

/** The exports in the order of index.ts, but functions and classes first. */
export async function clientExports(): Promise<Export[]> {
  const index = ts.createSourceFile(
    "index.ts",
    await readFile(join(source, "index.ts"), "utf8"),
    ts.ScriptTarget.Latest,
  );
  const exports: Export[] = [];
  for (const statement of index.statements) {
    if (!ts.isExportDeclaration(statement) || !statement.exportClause || !statement.moduleSpecifier) continue;
    const file = (statement.moduleSpecifier as ts.StringLiteral).text.replace("./", "").replace(".ts", "");
    const declarations = await declarationsOf(file);
    for (const { name } of (statement.exportClause as ts.NamedExports).elements)
      exports.push(exportOf(name.text, file, declarations));
  }
  return exports.sort((a, b) => Number(b.isCode) - Number(a.isCode));
}

/** A file's declarations, as tsc writes them. */
async function declarationsOf(file: string): Promise<ts.SourceFile> {
  const fileName = `${file}.ts`;
  const text = await readFile(join(source, fileName), "utf8");
  const { outputText } = ts.transpileDeclaration(text, { fileName });
  return ts.createSourceFile(fileName, outputText, ts.ScriptTarget.Latest, true);
}

function exportOf(name: string, file: string, declarations: ts.SourceFile): Export {
  const found = declarations.statements.find(
    (statement) => (statement as ts.Statement & { name?: ts.Identifier }).name?.text === name,
  );
  if (!found) throw new Error(`${name} is not declared in ${file}.ts`);
  const [doc] = ts.getJSDocCommentsAndTags(found).filter(ts.isJSDoc);
  const tags = doc?.tags ?? [];
  const textOf = (tag: string) =>
    tags
      .filter(({ tagName }) => tagName.text === tag)
      .map(({ comment }) => ts.getTextOfJSDocComment(comment) ?? "");
  return {
    name,
    declaration: file === "schema" ? undefined : printed(found),
    isCode: ts.isFunctionDeclaration(found) || ts.isClassDeclaration(found),
    comment: plainText(ts.getTextOfJSDocComment(doc?.comment) ?? ""),
    parameters: tags.flatMap((tag) =>
      ts.isJSDocParameterTag(tag)
        ? {
            name: tag.name.getText(),
            comment: plainText((ts.getTextOfJSDocComment(tag.comment) ?? "").replace(/^- /, "")),
          }
        : [],
    ),
    returns: plainText(textOf("returns").join(" ")),
    throws: plainText(textOf("throws").join(" ")),
    examples: textOf("example"),
    uncommented:
      file === "schema"
        ? []
        : membersOf(found)
            .filter((member) => ts.getJSDocCommentsAndTags(member).length === 0)
            .map((member) => member.getText()),
  };
}

/** The members of a class or of a type with members. */
function membersOf(declaration: ts.Node): readonly ts.Node[] {
  if (ts.isClassDeclaration(declaration)) return declaration.members;
  if (!ts.isTypeAliasDeclaration(declaration)) return [];
  const parts = ts.isIntersectionTypeNode(declaration.type) ? declaration.type.types : [declaration.type];
  return parts.flatMap((part) => (ts.isTypeLiteralNode(part) ? [...part.members] : []));
}

const printed = (declaration: ts.Node) =>
  declaration
    .getText()
    .replace(/^export (declare )?/, "")
    .replace(/^( {4})+/gm, (indent) => indent.replaceAll("    ", "  "));

/** One line, with links within the page. */
const plainText = (text: string) =>
  text
    .replaceAll(/\s*\n\s*/g, " ")
    .replaceAll(/\{@link (\w+)\}/g, (_, name: string) => `[\`${name}\`](#${name.toLowerCase()})`);

/** The page about the exports. */
export function referenceOf(exports: Export[]): string {
  const sections = exports.map(({ name, declaration, comment, parameters, returns, throws, examples }) =>
    [
      `## ${name}`,
      comment,
      declaration && `\`\`\`ts\n${declaration}\n\`\`\``,
      parameters.length > 0 &&
        [
          "| Parameter | |",
          "|---|---|",
          ...parameters.map((one) => `| \`${one.name}\` | ${one.comment} |`),
        ].join("\n"),
      returns && `Returns: ${returns}`,
      throws && `Throws: ${throws}`,
      ...examples,
    ]
      .filter(Boolean)
      .join("\n\n"),
  );
  return `# Reference of the client package

Generated by \`npm run client:reference\` from the comments in \`packages/client/src\`. [client.md](client.md) is the guide.

${sections.join("\n\n")}
`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href)
  await writeFile(clientReference, referenceOf(await clientExports()));
