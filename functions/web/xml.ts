/** Markup with escaped values. */
class Xml {
  constructor(readonly text: string) {}
}
type Value = Xml | readonly Xml[] | string | number | undefined;

/** XML from a template: values are escaped, except nested templates; undefined is empty. */
export function xml(parts: TemplateStringsArray, ...values: Value[]): Xml {
  return new Xml(String.raw({ raw: parts }, ...values.map(textOf)));
}

/** A document with one root element. */
export const xmlDocument = (root: Xml) => `<?xml version="1.0" encoding="utf-8"?>\n${root.text}\n`;

function textOf(value: Value): string {
  if (value === undefined) return "";
  if (value instanceof Xml) return value.text;
  if (typeof value === "object") return value.map(({ text }) => text).join("");
  return (
    String(value)
      // XML 1.0 has no place for these, escaped or not.
      // biome-ignore lint/suspicious/noControlCharactersInRegex: matches control characters on purpose
      .replace(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]|\p{Surrogate}/gu, "")
      .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
  );
}
