import { type HTMLElement, NodeType, type TextNode } from "node-html-parser";

/** Every text of a catalogue by name; plural texts for the number 2. */
export function textsOf(catalogue: object, prefix = ""): [name: string, text: string][] {
  return Object.entries(catalogue).flatMap(([name, message]): [string, string][] => {
    if (typeof message === "object") return textsOf(message, `${prefix}${name}.`);
    return [[prefix + name, typeof message === "function" ? String(message(2, 2)) : message]];
  });
}

/** The visible and accessible texts of a page. */
export function wordsOf(html: HTMLElement): string[] {
  const attributes = ["aria-label", "placeholder", "title", "alt"];
  const words: string[] = [];
  const walk = (element: HTMLElement) => {
    // The names of languages are written in themselves.
    if (["OPTION", "SCRIPT", "STYLE"].includes(element.tagName)) return;
    for (const name of attributes) words.push(element.getAttribute(name) ?? "");
    for (const node of element.childNodes) {
      if (node.nodeType === NodeType.TEXT_NODE) words.push((node as TextNode).text);
      else if (node.nodeType === NodeType.ELEMENT_NODE) walk(node as HTMLElement);
    }
  };
  walk(html);
  return words.map((text) => text.trim()).filter(Boolean);
}
