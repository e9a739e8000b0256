import { type Json, parsed } from "../../../_shared/statements/shapes.ts";
import { useVisit } from "../../rendering.ts";
import type { Visit } from "../../visit.ts";
import { CopyButton } from "./copy-button.tsx";

/** The data of the response that this page shows once; undefined if it shows none. */
export const answerOf = <Answer,>({ answered }: Visit): Answer | undefined =>
  answered === undefined ? undefined : parsed(answered as Json<{ data: Answer }>).data;

/** The new secret; undefined if none was created, or if the form supplied it. */
export const secretIn = (visit: Visit) => answerOf<{ secret?: string | null }>(visit)?.secret;

type Props = {
  id: string;
  label: string;
  /** Null in the response to a repeated form. */
  secret: string | null;
  /** The text shown then. */
  gone?: string | undefined;
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

/** The secret in the response that this page shows once, if it has one. */
export const MadeSecret = ({ label, gone }: Pick<Props, "label" | "gone">) => {
  const secret = secretIn(useVisit());
  return secret === undefined ? null : <Secret id="secret" label={label} secret={secret} gone={gone} />;
};
