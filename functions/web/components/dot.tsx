import { raw } from "hono/html";

/** The color of a category, #rrggbb: an attribute, since the pages allow no inline style. */
export const Dot = ({ color }: { color: string }) =>
  /^#[0-9a-f]{6}$/i.test(color)
    ? raw(`<svg class="dot" viewBox="0 0 8 8" aria-hidden="true"><circle cx="4" cy="4" r="4" fill="${color}"/></svg>`)
    : null;

/** A category with its color. */
export const WithDot = ({ of }: { of: { name: string; color: string } }) => (
  <span class="with-dot">
    <Dot color={of.color} />
    {of.name}
  </span>
);
