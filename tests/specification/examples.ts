import { textOf } from "../docs/markdown.ts";
import type { Answer } from "./request.ts";
import type { Scene } from "./scene.ts";

const maxLength = 600;
const shortened = (text: string) => (text.length > maxLength ? `${text.slice(0, maxLength)} …` : text);
const textOfBody = (body: unknown) => (typeof body === "string" ? body : JSON.stringify(body));

/** The requests of a row and their answers, with stable names in place of ids, times and secrets. */
export async function exampleOf({ steps = [] }: Answer, scene: Scene): Promise<string> {
  const lines = steps.flatMap(({ as, request, answer: { sent, status, body, text } }) => {
    const [what, args] = typeof request === "string" ? [request] : request;
    const asked = [what.replace(/^([A-Z]+) /, "$1 /api"), textOfBody(sent ?? args)].filter(Boolean).join(" ");
    return [`${as}: ${asked}`, `→ ${status} ${body === undefined ? text : JSON.stringify(body)}`];
  });
  const described = await Promise.all(lines.map((line) => scene.described(line)));
  return `\`\`\`\n${described.map(shortened).join("\n")}\n\`\`\``;
}

/** The page, in the order of the specification. */
export function pageOf(examples: ReadonlyMap<string, string>): string {
  const page = textOf("docs/specification.md");
  const parts = [...page.matchAll(/^## (.*)$|^(?:- \*\*|\| )(\d+(?:\.\d+)+)/gm)].map(([, heading, line = ""]) =>
    heading === undefined ? `**${line}**\n\n${examples.get(line)}\n` : `## ${heading}\n`,
  );
  return `${introduction}\n${parts.join("\n")}`;
}

const introduction = `# Examples of the specification

A request and its answer for each line of the [specification](specification.md), as a run of the tests recorded them: the caller, the
request and its body, the status and what came. \`<idea>\` is the id of the idea that \`:idea\` names, \`<time>\` a time; texts of more
than ${maxLength} characters are cut.
`;
