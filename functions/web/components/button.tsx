import type { Child } from "hono/jsx";
import type { JSX } from "hono/jsx/jsx-runtime";
import type { IconName } from "../icons.ts";
import { useVisit } from "../rendering.ts";
import { Icon } from "./icon.tsx";

type Props = Omit<JSX.IntrinsicElements["a"] & JSX.IntrinsicElements["button"], "class" | "type"> & {
  kind?: "main" | "danger" | "small" | "small main" | "small danger" | undefined;
  icon?: IconName;
  label?: Child;
  /** The item that the button acts on, for visitors who cannot see where the button is. */
  of?: string | undefined;
};

/** A link that looks like a button; without `href`, the button that sends its form. */
export const Button = ({ kind, icon, label, of, children, ...given }: Props) => {
  const { words } = useVisit().messages;
  const more = of === undefined ? given : { ...given, "aria-label": `${label}${words.colon}${of}` };
  const className = kind ? `button ${kind}` : "button";
  const content = (
    <>
      {icon && <Icon name={icon} />}
      {label}
      {children}
    </>
  );
  return more.href === undefined ? (
    <button type="submit" class={className} {...more}>
      {content}
    </button>
  ) : (
    <a class={className} {...more}>
      {content}
    </a>
  );
};
