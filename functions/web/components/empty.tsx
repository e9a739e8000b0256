import type { PropsWithChildren } from "hono/jsx";

/** In place of a list without items. */
export const Empty = ({ title, text, children }: PropsWithChildren<{ title: string; text: string }>) => (
  <div class="empty">
    <h2>{title}</h2>
    <p>{text}</p>
    {children}
  </div>
);
