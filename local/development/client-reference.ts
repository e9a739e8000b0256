import { readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import ts from "typescript";
import { root } from "../postgres/database-server.ts";
import { runCommand } from "../processes/command.ts";

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

/** The exports by the name of their file, but functions and classes first. */
export async function clientExports(): Promise<Export[]> {
  const index = ts.createSourceFile(
    "index.ts",
    await readFile(join(source, "index.ts"), "utf8"),
    ts.ScriptTarget.Latest,
  );
  const lists = index.statements.filter(ts.isExportDeclaration).flatMap(({ exportClause, moduleSpecifier }) => {
    if (!exportClause || !moduleSpecifier) return [];
    const file = (moduleSpecifier as ts.StringLiteral).text;
    return [{ file, elements: (exportClause as ts.NamedExports).elements }];
  });
  const exports: Export[] = [];
  for (const { file, elements } of lists.sort((a, b) => (basename(a.file) < basename(b.file) ? -1 : 1))) {
    const declarations = await declarationsOf(file);
    for (const { name } of elements) exports.push(exportOf(name.text, file, declarations));
  }
  return exports.sort((a, b) => Number(b.isCode) - Number(a.isCode));
}

/** A file's declarations, as tsc writes them. */
async function declarationsOf(file: string): Promise<ts.SourceFile> {
  const text = await readFile(join(source, file), "utf8");
  const { outputText } = ts.transpileDeclaration(text, { fileName: file });
  return ts.createSourceFile(file, outputText, ts.ScriptTarget.Latest, true);
}

function exportOf(name: string, file: string, declarations: ts.SourceFile): Export {
  const found = declarations.statements.find(
    (statement) => (statement as ts.Statement & { name?: ts.Identifier }).name?.text === name,
  );
  if (!found) throw new Error(`${name} is not declared in ${file}`);
  const [doc] = ts.getJSDocCommentsAndTags(found).filter(ts.isJSDoc);
  const tags = doc?.tags ?? [];
  const textOf = (tag: string) =>
    tags.filter(({ tagName }) => tagName.text === tag).map(({ comment }) => ts.getTextOfJSDocComment(comment) ?? "");
  return {
    name,
    declaration: file === "./schema.ts" ? undefined : printed(found),
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
      file === "./schema.ts"
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
        ["| Parameter | |", "|---|---|", ...parameters.map((one) => `| \`${one.name}\` | ${one.comment} |`)].join("\n"),
      returns && `Returns: ${returns}`,
      throws && `Throws: ${throws}`,
      ...examples,
    ]
      .filter(Boolean)
      .join("\n\n"),
  );
  return `# Reference of the client package

Generated by \`npm run client:reference\` from comments in \`packages/client/src\` and \`shared/\`. [client.md](client.md) is the guide.

${sections.join("\n\n")}
`;
}

await runCommand(import.meta.url, async () => writeFile(clientReference, referenceOf(await clientExports())));
