import type { Island } from "./island.ts";

/** On the comment that the address names: shows it. On the page: loads the one with the comment that only the fragment names. */
export const connect: Island = (element, signal) => {
  if (element.id.startsWith("comment-")) return element.scrollIntoView({ block: "nearest" });
  const find = () => {
    const [, id] = /^#comment-([0-9a-f-]{36})$/.exec(location.hash) ?? [];
    const url = new URL(location.href);
    if (!id || document.getElementById(`comment-${id}`) || url.searchParams.get("comment") === id) return;
    for (const name of ["page", "thread"]) url.searchParams.delete(name);
    url.searchParams.set("comment", id);
    location.replace(url);
  };
  find();
  addEventListener("hashchange", find, { signal });
};
