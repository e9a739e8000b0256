import { frameMessages } from "../../messages/admin/index.ts";
import type { Visit } from "../../visit.ts";

/** Leaves a form. */
export const Cancel = ({ href, visit }: { href: string; visit: Visit }) => (
  <a class="button" href={href}>
    {frameMessages(visit.locale).cancel}
  </a>
);
