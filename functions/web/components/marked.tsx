import { Fragment } from "hono/jsx";

const entities: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&amp;": "&" };

/**
 * Renders search highlights: escaped HTML in which only <mark> is markup. Starts with an ellipsis if the highlights are
 * not from the beginning of `text`.
 */
export const Marked = ({ html, text }: { html: string; text: string }) => {
  const parts = html
    .split(/<mark>(.*?)<\/mark>/s)
    .map((part) => part.replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity] ?? entity));
  return (
    <>
      {!text.startsWith(parts.join("")) && "… "}
      {parts.map((part, at) => (at % 2 === 1 ? <mark>{part}</mark> : <Fragment>{part}</Fragment>))}
    </>
  );
};
