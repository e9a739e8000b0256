import { Fragment } from "hono/jsx";

const entities: Record<string, string> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&amp;": "&",
};

/** Search highlights, escaped except for <mark>, as text and marks: other markup stays text. */
export const Marked = ({ html }: { html: string }) => (
  <>
    {html.split(/<mark>(.*?)<\/mark>/s).map((part, at) => {
      const text = part.replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity] ?? entity);
      return at % 2 === 1 ? <mark>{text}</mark> : <Fragment>{text}</Fragment>;
    })}
  </>
);
