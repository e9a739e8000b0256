import type { PropsWithChildren } from "hono/jsx";

/** A link that is a paragraph of its own. */
export const LinkLine = ({ href, children }: PropsWithChildren<{ href: string }>) => (
  <p>
    <a class="link" href={href}>
      {children}
    </a>
  </p>
);
