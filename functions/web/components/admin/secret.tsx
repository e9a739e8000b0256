import { useVisit } from "../../rendering.ts";
import { CopyButton } from "./copy-button.tsx";

type Props = {
  id: string;
  label: string;
  /** Null in the response to a repeated form. */
  secret: string | null;
  /** The text shown then. */
  gone?: string;
};

/** A new secret, shown only in the response that created it, by `resultPage` of the action. */
export const Secret = ({ id, label, secret, gone }: Props) => {
  const visit = useVisit();
  return (
    <section class="notice secret" id={id} data-turbo-temporary role="status">
      <h2>{label}</h2>
      {secret === null ? (
        <p>{gone ?? visit.messages.admin.frame.secretGone}</p>
      ) : (
        <>
          <div class="copy-row">
            <code class="code">{secret}</code>
            <CopyButton id={`${id}-copy`} text={secret} what={label} />
          </div>
          <p>{visit.messages.admin.frame.secretOnce}</p>
        </>
      )}
    </section>
  );
};
