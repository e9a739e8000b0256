import { useVisit } from "../../rendering.ts";
import { Button } from "../button.tsx";

/** Leaves a form. */
export const Cancel = ({ href }: { href: string }) => {
  const visit = useVisit();
  return <Button href={href} label={visit.messages.admin.frame.cancel} />;
};
