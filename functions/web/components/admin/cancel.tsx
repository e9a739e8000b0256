import { useVisit } from "../../rendering.ts";

/** Leaves a form. */
export const Cancel = ({ href }: { href: string }) => {
  const visit = useVisit();
  return (
    <a class="button" href={href}>
      {visit.messages.admin.frame.cancel}
    </a>
  );
};
