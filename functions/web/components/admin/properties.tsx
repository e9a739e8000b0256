import type { Child } from "hono/jsx";

type Property = readonly [label: string, value: Child | undefined];

type Props = { of: readonly Property[]; class?: string };

const isEmpty = (value: Child | undefined) => value === null || value === undefined || value === "" || value === false;

/** Labels and values; those without a value are left out. */
export const Properties = ({ of, class: className = "properties" }: Props) => (
  <dl class={className}>
    {of
      .filter(([, value]) => !isEmpty(value))
      .map(([label, value]) => (
        <>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </>
      ))}
  </dl>
);
