import { readFile } from "node:fs/promises";
import { join } from "node:path";
import ts from "typescript";
import { beforeAll, expect, test } from "vitest";
import { clientExports, clientReference, type Export, referenceOf } from "../../local/development/client-reference.ts";
import { root } from "../../local/postgres/database-server.ts";

let exports: Export[];
beforeAll(async () => {
  exports = await clientExports();
});

test("the reference is generated from the comments as they are", async () => {
  expect(referenceOf(exports), "npm run client:reference makes it anew").toBe(await readFile(clientReference, "utf8"));
});

test("every export has a comment, and so has every member", () => {
  expect(exports.length).toBeGreaterThan(20);
  expect(exports.filter(({ comment }) => comment === "").map(({ name }) => name)).toEqual([]);
  expect(exports.flatMap(({ uncommented }) => uncommented)).toEqual(['readonly name = "FeedbackError";']);
});

test("every function has an example, and its parameters are those of its declaration", () => {
  const functions = exports.filter(({ declaration }) => declaration?.startsWith("function "));
  expect(functions.map(({ name }) => name).sort()).toEqual([
    "createFeedbackClient",
    "isServiceSignature",
    "items",
    "live",
    "verifyWebhook",
  ]);
  for (const { name, declaration = "", parameters, examples } of functions) {
    const file = ts.createSourceFile("f.d.ts", `declare ${declaration}`, ts.ScriptTarget.Latest, true);
    const [declared] = file.statements as unknown as ts.FunctionDeclaration[];
    const names = declared?.parameters.map((parameter) => parameter.name.getText().replace(/[[\]]/g, ""));
    expect([name, parameters.map((parameter) => parameter.name)]).toEqual([name, names]);
    expect([name, examples.length]).toEqual([name, 1]);
  }
});

test("the examples have no errors of types", () => {
  const examples = new Map(
    exports.flatMap(({ name, examples }) =>
      examples.map((text) => [join(root, "packages", "client", `${name}.example.ts`), code(text)] as const),
    ),
  );
  expect(examples.size).toBeGreaterThan(8);
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    types: [],
    paths: { "@feedback-collection-service/client": [join(root, "packages", "client", "src", "index.ts")] },
  };
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile: read, getSourceFile } = host;
  host.fileExists = (path) => examples.has(path) || fileExists(path);
  host.readFile = (path) => examples.get(path) ?? read(path);
  host.getSourceFile = (path, language, ...more) => {
    const text = examples.get(path);
    return text === undefined ? getSourceFile(path, language, ...more) : ts.createSourceFile(path, text, language);
  };
  const program = ts.createProgram([...examples.keys()], options, host);
  const errors = ts
    .getPreEmitDiagnostics(program)
    .map(({ file, messageText }) => [file?.fileName, ts.flattenDiagnosticMessageText(messageText, "\n")]);
  expect(errors).toEqual([]);
});

const code = (example: string) => example.replace(/^```ts\n/, "").replace(/\n```$/, "");
