import { Parser } from "htmlparser2";
import { trimText } from "../../../../shared/text.ts";

const paragraphs = "blockquote dl figure h1 h2 h3 h4 h5 h6 hr ol p pre section table ul".split(" ");
const lines = "dd div dt figcaption li tr".split(" ");
const others =
  "a b br code del em font html body i img ins s small span strike strong sub sup tbody td th thead u".split(" ");
const hidden = ["script", "style", "head"];
const known = new Set([...paragraphs, ...lines, ...others, ...hidden]);
const markup = new RegExp(`</(?:${[...known].join("|")})\\s*>|<(?:br|hr|p)\\b[^<>]*>`, "i");
const entity = /&(?:#\d+|#x[\da-f]+|[a-z][a-z\d]*);/i;
const maxDepth = 200;
const isWeb = (address: string) => /^https?:/i.test(address);

/** The text of HTML, trimmed: lists with dashes or numbers, links with their address. A text without tags keeps its `<`. */
export function textOfHtml(written: string): string {
  const hasTags = markup.test(written);
  if (!hasTags && !entity.test(written)) return trimText(written);
  const text = trimText(visibleText(hasTags ? written : written.replaceAll("<", "&lt;")));
  // Some services encode the HTML once more.
  return !hasTags && /^<(?:p|div|[uo]l|h[1-6])\b/i.test(text) && markup.test(text) ? textOfHtml(text) : text;
}

function visibleText(html: string): string {
  let text = "";
  let startsLine = true;
  let startsItem = false;
  let link: { address: string; label: string } | undefined;
  let hiddenIn: { name: string; from: number } | undefined;
  let depth = 0;
  /** The next number of each open list; bullets have none. */
  const lists: (number | undefined)[] = [];
  const add = (part: string) => {
    if (part === "" || hiddenIn) return;
    text += part;
    startsLine = part.endsWith("\n");
    if (link) link.label += part;
  };
  const addBreak = (name: string) => {
    if (startsItem) return;
    if (paragraphs.includes(name) && lists.length === 0) add("\n\n");
    else if ([...paragraphs, ...lines].includes(name) && !startsLine) add("\n");
  };
  const addSource = () => add(html.slice(parser.startIndex, parser.endIndex + 1));
  const parser = new Parser({
    ontext(part) {
      // The parser knows entities without a semicolon, but a text has more addresses with &copy=2.
      const source = html.slice(parser.startIndex, parser.endIndex + 1);
      const decoded = /^&.*[^;]$/s.test(source) ? source : part;
      const shown = startsLine ? decoded.trimStart() : decoded;
      if (shown.trim() !== "") startsItem = false;
      add(shown);
    },
    onopentag(name, { href = "", src = "", alt = "" }) {
      // The parser takes quadratic time for nested tags.
      if (++depth > maxDepth) parser.pause();
      if (!known.has(name)) addSource();
      addBreak(name);
      if (hidden.includes(name)) hiddenIn ??= { name, from: parser.startIndex };
      else if (name === "br") add("\n");
      else if (name === "a") link = { address: href, label: "" };
      else if (name === "img") add([alt, isWeb(src) && (alt ? `(${src})` : src)].filter(Boolean).join(" "));
      else if (name === "ul" || name === "ol") lists.push(name === "ol" ? 1 : undefined);
      else if (name === "li") {
        const number = lists.pop();
        add(`${"  ".repeat(Math.min(lists.length, 10))}${number ? `${number}.` : "-"} `);
        lists.push(number && number + 1);
        startsItem = true;
      }
    },
    onclosetag(name, isImplied) {
      depth--;
      if (!known.has(name) && !isImplied) addSource();
      if (hiddenIn?.name === name) {
        const { from } = hiddenIn;
        hiddenIn = undefined;
        // A tag that does not end is one that the text speaks of.
        if (isImplied) add(html.slice(from, parser.startIndex));
      }
      startsItem = false;
      if (name === "ul" || name === "ol") lists.pop();
      if (name === "a" && link) {
        const { address, label } = link;
        link = undefined;
        if (isWeb(address) && label.trim() !== address) add(label.trim() === "" ? address : ` (${address})`);
      }
      if (name === "td" || name === "th") add(" ");
      if (name !== "hr") addBreak(name);
    },
  });
  parser.end(html);
  if (depth > maxDepth) return html;
  const trimmed = text.split("\n").map((line) => line.trimEnd());
  return trimmed.join("\n").replaceAll(/\n{3,}/g, "\n\n");
}
