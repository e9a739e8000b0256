import { CopyButton } from "./copy-button.tsx";

type Props = {
  id: string;
  /** Label of the block, such as the name of a file. */
  label: string;
  text: string;
};

/** Text to copy into a file or a shell. */
export const CodeBlock = ({ id, label, text }: Props) => (
  <figure class="code-block">
    <figcaption>
      <span>{label}</span>
      <CopyButton id={`${id}-copy`} text={text} what={label} />
    </figcaption>
    <pre>
      <code>{text}</code>
    </pre>
  </figure>
);
