import { frameMessages } from "../../messages/admin/frame/index.ts";
import type { Visit } from "../../visit.ts";
import { CopyButton } from "./copy-button.tsx";

type Props = {
  id: string;
  label: string;
  /** Null where its form was posted again. */
  secret: string | null;
  /** What is said then. */
  gone?: string;
  visit: Visit;
};

/** A secret in the answer that made it, and in no later one: `resultPage` of the action shows the page with it. */
export const Secret = ({ id, label, secret, gone, visit }: Props) => (
  <section class="notice secret" id={id} data-turbo-temporary role="status">
    <h2>{label}</h2>
    {secret === null ? (
      <p>{gone ?? frameMessages(visit.locale).secretGone}</p>
    ) : (
      <>
        <div class="copy-row">
          <code class="code">{secret}</code>
          <CopyButton id={`${id}-copy`} text={secret} what={label} visit={visit} />
        </div>
        <p>{frameMessages(visit.locale).secretOnce}</p>
      </>
    )}
  </section>
);
