import type { Island } from "./islands.ts";

/** Bytes after which received parts become a Blob, which a browser keeps on disk. */
const maxHeld = 8 * 1024 * 1024;

/** Downloads the file of a form and shows the progress. Without scripts the browser downloads it. */
export const connect: Island = (element, signal) => {
  const form = element as HTMLFormElement;
  const progress = form.querySelector<HTMLElement>("[data-progress]");
  const bar = progress?.querySelector("progress");
  const said = progress?.querySelector<HTMLElement>("[data-said]");
  const button = form.querySelector("button");
  if (!progress || !bar || !said || !button) return;
  const size = new Intl.NumberFormat(document.documentElement.lang, {
    style: "unit",
    unit: "megabyte",
    maximumFractionDigits: 1,
  });
  const say = (text = "", bytes = 0) => {
    said.textContent = text.replace("#", size.format(bytes / 1e6));
  };

  async function download(address: string) {
    const response = await fetch(address, { signal });
    // An HTML page shows the error.
    if (!response.ok || !response.body || response.headers.get("Content-Type")?.startsWith("text/html"))
      return location.assign(address);
    const reader = response.body.getReader();
    let parts: BlobPart[] = [];
    let [held, received] = [0, 0];
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      parts.push(part.value);
      held += part.value.length;
      received += part.value.length;
      if (held > maxHeld) [parts, held] = [[new Blob(parts)], 0];
      say(form.dataset.received, received);
    }
    save(new Blob(parts), nameIn(response.headers.get("Content-Disposition")));
    say(form.dataset.finished, received);
  }

  form.addEventListener(
    "submit",
    async (event) => {
      event.preventDefault();
      if (button.ariaDisabled === "true") return;
      const fields = [...new FormData(form)].map(([name, value]) => [name, String(value)]);
      button.ariaDisabled = "true";
      bar.hidden = progress.hidden = false;
      say(form.dataset.received);
      await download(`${form.action}?${new URLSearchParams(fields)}`).catch(() => say(form.dataset.broken));
      bar.hidden = true;
      button.ariaDisabled = "false";
    },
    { signal },
  );
};

const nameIn = (header: string | null) => /filename="([^"]+)"/.exec(header ?? "")?.[1] ?? "feedback";

function save(file: Blob, name: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  // The download has begun by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
