import type { Words } from "../words/en/words.ts";
import { isolated } from "../words/index.ts";

/** The text of a mail, from the HTML of its templates, in which what people wrote is escaped. */
export function textOfMail(html: string, { colon }: Words): string {
  return unescaped(
    html
      .replace(/<head>.*?<\/head>|<div class="preview".*?<\/div>/gs, "")
      // Only tags start a line, not line breaks in a title. No-break spaces stay.
      .replace(/[^\S\u00A0\u202F]+/g, " ")
      .replace(/<blockquote[^>]*>(.*?)<\/blockquote>/g, (_, quoted) => `${quote(quoted)}\n\n`)
      .replace(
        /<a [^>]*?href="([^"]*)"[^>]*>(.*?)<\/a>/gs,
        (_, href, label) => `${isolated(strip(label))}${colon}${href}`,
      )
      .replace(/<br ?\/?>/g, "\n")
      .replace(/<hr[^>]*>/g, "\n-- \n")
      .replace(/<\/(p|h1|h2|blockquote|li|div|td)>/g, "\n\n")
      .replace(/<[^>]*>/g, ""),
  )
    .replace(/[ \t]+\n/g, (blank) => (blank === " \n" ? blank : "\n"))
    .replace(/\n{3,}/g, "\n\n")
    .trim()
    .concat("\n");
}

/** Quotes user text, so that it cannot be mistaken for text of the service. */
const quote = (html: string) =>
  html
    .split(/<br ?\/?>/)
    .map((line) => `> ${line}`)
    .join("\n");
const strip = (html: string) => html.replace(/<[^>]*>/g, "");

const entities: Record<string, string> = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };
const unescaped = (text: string) => text.replace(/&(lt|gt|quot|#39|amp);/g, (_, name) => entities[name] ?? "");
