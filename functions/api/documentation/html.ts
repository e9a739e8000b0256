export class Html {
  constructor(readonly text: string) {}
}
type Value = string | Html | Value[] | false | undefined;

/** Escapes all interpolated values except nested html. */
export function html(parts: TemplateStringsArray, ...values: Value[]): Html {
  return new Html(String.raw({ raw: parts }, ...values.map(textOf)));
}

function textOf(value: Value): string {
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(textOf).join("");
  return value ? escapeHtml(value) : "";
}

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? "");
}

export function join(values: Value[], separator: Value): Value[] {
  return values.flatMap((value, i) => (i === 0 ? [value] : [separator, value]));
}

/** Renders a description: text in backticks is code. */
export function prose(text = ""): Value[] {
  return text.split("`").map((piece, i) => (i % 2 === 1 ? html`<code>${piece}</code>` : piece));
}
