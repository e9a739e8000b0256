import type { Visit } from "../../visit.ts";

/** Leaves a form. */
export const Cancel = ({ href, visit }: { href: string; visit: Visit }) => (
  <a class="button" href={href}>
    {visit.messages.admin.frame.cancel}
  </a>
);
