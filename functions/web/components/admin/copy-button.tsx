import { useVisit } from "../../rendering.ts";
import { Icon } from "../icon.tsx";

/** Copies the adjacent text. */
export const CopyButton = ({ id, text, what }: { id: string; text: string; what: string }) => {
  const visit = useVisit();
  const words = visit.messages.admin.frame;
  return (
    <button
      type="button"
      class="button small needs-script"
      id={id}
      data-island="copy"
      data-text={text}
      data-done={words.copied}
    >
      <Icon name="copy" />
      <span data-label aria-live="polite">
        {words.copy}
      </span>
      <span class="unseen"> {what}</span>
    </button>
  );
};
